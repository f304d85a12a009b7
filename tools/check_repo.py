#!/usr/bin/env python3
"""Repository rules that a compiler does not check: include directions, line budgets, file sizes, links in pages, fences in device poll loops.

    tools/check_repo.py            checks, prints every violation, exit code 1 if there is one
    tools/check_repo.py --sizes    also prints the code lines of each folder beside its budget
    tools/check_repo.py --map      first writes the table of docs/map.md from LAYERS; what a folder is for stays as it is there
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = {".h", ".cpp", ".cc", ".S", ".def"}

# Folder: (code-line budget, folders below src/ or include/baretile it may include from). `public` is include/baretile/*.h, `isa` include/baretile/isa.
LAYERS = {
    "include/baretile": (780, {"public", "isa"}),
    "include/baretile/capi.h": (120, set()),
    "include/baretile/custom.h": (40, {"public"}),
    "include/baretile/isa": (1650, {"isa", "bits"}),
    "src/pci": (980, {"public", "isa", "pci"}),
    "src/chip": (600, {"public", "isa", "pci", "chip"}),
    "src/noc": (300, {"public", "isa", "chip", "noc"}),
    "src/firmware": (500, {"public", "isa", "chip", "noc", "firmware"}),
    "src/debug": (690, {"public", "isa", "chip", "noc", "firmware", "compiler", "debug"}),
    "src/runtime": (600, {"public", "isa", "chip", "noc", "firmware", "debug", "runtime"}),
    "src/compiler": (4800, {"public", "isa", "compiler"}),
    "src/compiler/custom": (210, {"public", "isa", "compiler"}),
    "src/files": (850, {"public", "files"}),
    "src/tensor": (1200, {"public", "isa", "compiler", "tensor"}),
    "src/explain": (1200, {"public", "isa", "compiler", "tensor", "explain"}),
    "src/transform": (550, {"public", "compiler", "tensor", "transform"}),
    "src/array": (1200, {"public", "compiler", "files", "tensor", "array"}),
    "src/nn": (500, {"public", "nn"}),
    "kernels": (1200, {"public", "isa", "kernels"}),
    "kernels/debug": (120, {"public", "isa"}),
    "kernels/sfpu": (2200, {"kernels"}),
    "kernels/whole": (480, {"kernels"}),
    "src/models": (2200, {"public", "files", "models"}),
    "src/capi": (920, {"public", "compiler", "tensor", "capi"}),
    "python": (780, {"capi"}),
    "src/cli": (1200, {"public", "isa", "pci", "chip", "noc", "compiler", "tensor", "explain", "models", "cli"}),
    "src/sim": (11500, {"bits", "isa", "sim"}),
    "tools": (1300, set()),
    "bench": (420, {"public", "isa", "compiler", "chip", "models", "bench"}),
}
# Public headers of layers that stand beside the core; they count there.
HEADERS = {
    "src/explain": ["explain.h"],
    "src/transform": ["autograd.h", "jit.h"],
    "src/array": ["files.h", "random.h"],
    "src/nn": ["nn.h"],
}
CORE = ["include/baretile", "src/pci", "src/chip", "src/noc", "src/firmware", "src/runtime", "src/compiler", "src/tensor", "kernels"]
CORE_CEILING = 10000
ORDER = ["bits", "isa", "public", *[f.removeprefix("src/") for f in LAYERS if not f.startswith("include")]]  # of names in docs/map.md
MAX_FILE_LINES = 500
FREESTANDING = ["include/baretile/bits.h", "include/baretile/abi.h", *[f"include/baretile/isa/{n}.h" for n in ("isa", "mmio", "noc", "grid")]]

errors = []


def error(path, line, text):
    errors.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def sources(folder, suffixes=CODE):
    return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in suffixes and p.is_file())


def code_lines(path):
    """Lines that are neither blank nor comment; a line over 120 columns counts as what it would wrap to."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    mark = "#" if path.suffix in {"", ".py", ".sh"} else "//"
    lines = [l.strip() for l in text.splitlines()]
    return sum(1 + (len(l) - 1) // 120 for l in lines if l and not l.startswith(mark))


def layer_files(folder):
    """Files of a layer with its public headers, without those of layers inside it (include/baretile/isa, kernels/sfpu)."""
    if (ROOT / folder).is_file():
        return [ROOT / folder]
    if folder in HEADERS:
        return sources(folder) + [ROOT / "include/baretile" / name for name in HEADERS[folder]]
    inner = [ROOT / other for other in LAYERS if other.startswith(folder + "/")]
    inner += [ROOT / "include/baretile" / name for names in HEADERS.values() for name in names if folder == "include/baretile"]
    found = sources(folder, {".py"} if folder == "python" else CODE)
    return [p for p in found if not any(i == p or i in p.parents for i in inner)]


def layer_of_include(name):
    parts = name.split("/")
    if parts[0] == "baretile":
        if parts[1] == "isa":
            return "isa"
        return "bits" if parts[1] == "bits.h" else "public"
    return parts[0] if (ROOT / "src" / parts[0]).is_dir() else None


def check_includes():
    for folder, (_, allowed) in LAYERS.items():
        for path in layer_files(folder):
            for n, line in enumerate(path.read_text().splitlines(), 1):
                m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                layer = m and layer_of_include(m[1])
                if layer and layer not in allowed and not (layer == "bits" and allowed & {"isa", "public"}):
                    error(path, n, f'{folder} may not include "{m[1]}" (it may include: {", ".join(sorted(allowed))})')
    for name in FREESTANDING:
        for n, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            m = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
            if m and m[1] not in {"stdint.h", "stddef.h"}:
                error(ROOT / name, n, f"<{m[1]}> in a header that device code includes")
    for path in sorted((ROOT / "include/baretile").glob("*.h")):
        if re.search(r"#\s*include\s+<(fmt|nlohmann)/", path.read_text()):
            error(path, 1, "fmt or json in a public header")
        declares = path.name not in {"bits.h", "abi.h", "program.h", "baretile.h"}  # these are values and inline functions only, or nothing
        if declares and not re.search(r"^#pragma GCC visibility push\(default\)\n(.*\n)+#pragma GCC visibility pop$", path.read_text(), flags=re.M):
            error(path, 1, "#pragma GCC visibility push(default) … pop around the declarations, else the shared library does not export them")


def check_sizes(show):
    core = 0
    for folder, (budget, _) in LAYERS.items():
        files = layer_files(folder) if folder != "tools" else [p for p in (ROOT / folder).iterdir() if p.is_file()]
        lines = sum(code_lines(p) for p in files)
        core += lines if folder in CORE else 0
        if show:
            print(f"{folder:24}{lines:7} of {budget}")
        if lines > budget:
            error(ROOT / folder, 0, f"{lines} code lines, budget {budget}")
    if show:
        print(f"{'core':24}{core:7} of {CORE_CEILING}")
    if core > CORE_CEILING:
        error(ROOT / "src", 0, f"core has {core} code lines, ceiling {CORE_CEILING}")
    for path in sources("src") + sources("kernels") + sources("include") + sources("tests"):
        count = len(path.read_text().splitlines())
        if count > MAX_FILE_LINES and path.suffix != ".def":
            error(path, count, f"{count} lines; a file stays readable in one sitting up to {MAX_FILE_LINES}")


def map_table(text):
    """The table of docs/map.md as LAYERS has it, with the purposes that `text`, the page, gives. A new folder gets an empty purpose, which is an error."""
    purposes = dict(re.findall(r"^\| `([\w/.]+?)/?` \| (.*?) \|", text, flags=re.M))
    rows = ["| Folder | Purpose | May include | Lines |", "|---|---|---|---|"]
    for folder, (budget, allowed) in LAYERS.items():
        own = folder.removeprefix("src/").replace("include/baretile/isa", "isa").replace("include/baretile", "public")
        others = ", ".join(n for n in ORDER if n in allowed - {own}) or "nothing"
        name = folder if (ROOT / folder).is_file() else folder + "/"
        rows.append(f"| `{name}` | {purposes.get(folder, '')} | {others} | {budget:,} |")
        if not purposes.get(folder):
            error(ROOT / "docs/map.md", 0, f"`{name}` has no purpose in the table; run tools/check_repo.py --map and write it there")
    return "\n".join(rows) + "\n"


def check_map(write):
    page = ROOT / "docs/map.md"
    text = page.read_text()
    table = re.search(r"^\| Folder (?:.*\n)(?:\|.*\n)*", text, flags=re.M)
    wanted = map_table(text)
    if write:
        page.write_text(text.replace(table[0], wanted))
    elif table[0] != wanted:
        error(page, text.count("\n", 0, table.start()) + 1, "the table is not what LAYERS says; run tools/check_repo.py --map")


def check_links():
    """Links and pictures of pages lead to files, and paths of this repository in `code` to something that is there."""
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), path.read_text(), flags=re.S | re.M)  # without code
        for n, line in enumerate(text.splitlines(), 1):
            for target in re.findall(r"\]\(([^)#\s]+)", line):
                if "://" not in target and not (path.parent / target).exists():
                    error(path, n, f"link to {target}, which is not there")
            for target in re.findall(r"`((?:bench|cmake|docs|include|kernels|ramps|src|tests|tools)/[\w./*-]*)", line):
                if not any(ROOT.glob(target.rstrip("/."))):
                    error(path, n, f"`{target}` is not there")


def check_environment():
    """The environment variables that the sources read stand in one table, and there are no more than eight."""
    page = ROOT / "docs/start.md"
    read = {name for path in sources("src") for name in re.findall(r'"(BARETILE_[A-Z_]+)"', path.read_text())}
    for name in sorted(read ^ set(re.findall(r"`(BARETILE_[A-Z_]+)`", page.read_text()))):
        error(page, 0, f"{name} is not in the table of the environment" if name in read else f"{name} is read nowhere in src")
    if len(read) > 8:
        error(page, 0, f"{len(read)} environment variables, at most 8; an option is a cost")


def check_poll_loops():
    """A loop in device code that waits on memory needs a fence (L1 lines are not coherent on silicon): `while (…) fence();` or a body with one."""
    for path in sources("src/firmware", {".cc", ".h"}) + sources("kernels"):
        text = path.read_text()
        for m in re.finditer(r"\b(while\s*\(([^;{}]*)\)|for\s*\(\s*;\s*;\s*\)|do)\s*(\{[^{}]*\}|[^;{}]*;)", text):
            waits = re.search(r"volatile|load\w*\(|mmio|read\w*\(|->|pushed|popped|sequence", m[0])
            if m[0].startswith("while") and text[: m.start()].rstrip().endswith("fence();"):
                continue  # the end of: do fence(); while (…);
            if waits and not re.search(r"fence|poll|wall_clock|read_reg|drain", m[0]):
                error(path, text.count("\n", 0, m.start()) + 1, "a loop that waits on memory without a fence: " + " ".join(m[0].split())[:80])


def main():
    check_includes()
    check_sizes("--sizes" in sys.argv)
    check_map("--map" in sys.argv)
    check_links()
    check_environment()
    check_poll_loops()
    for e in errors:
        print(e)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
