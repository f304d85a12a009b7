#!/usr/bin/env python3
"""Runs the commands and snippets of the pages, and compares what they print with what the page shows.

    run_docs.py --build DIR [--device NAME] [--cxx COMPILER] [--with NEED,…] [--update] [PAGE …]

Without pages: README.md, CONTRIBUTING.md and docs/*.md. What a block of a page means:

    ```sh       commands, run by bash in the source tree; each must succeed
    ```console  lines that begin with "$ " are commands, the others what they print; "…" stands for any text, alone on a line for any lines
    ```cpp      a program if it has a main, else what stands in a function; "using namespace baretile" and, unless it makes one, a Runtime rt are there.
                What it prints is compared with the rest of each line after "// prints ", or with a ```text block that follows at once
    others      nothing

A comment line before a block, as <!-- needs: network, minutes --> or <!-- given: int x = 1; -->, says what it needs, or gives code that stands before a
fragment. Needs: ttsim (TTSIM is set), weights (tools/get-model has been run), program:NAME (in PATH); card, minutes, network and root only with --with.
A block whose needs are not met is not run, and the report says so; what changes the machine must have needs. <!-- tested by: FILE --> leaves a whole page
to another test. In commands build/release means DIR. --update writes what was printed into the page where that shows something else.
Exit code: 0, 1 if a block failed, 77 if the device is not there.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # for one block
MODEL = "baretile/models/smollm2-135m-instruct.gguf"
CHANGES_THE_MACHINE = r"\b(sudo|apt-get|cpack|pip install|cmake --(preset|install)|tools/(demo|setup|test)\b)"
NEEDS = {"card", "minutes", "network", "root", "ttsim", "weights"}
HEADERS = ["baretile/baretile.h", "cmath", "cstdio", "fstream", "iostream", "random"]


@dataclass
class Block:
    page: Path
    line: int  # of its first line of text, from 1
    language: str
    text: list
    needs: set
    given: list
    shown: "Block | None" = None  # the text block behind a snippet
    failures: list = field(default_factory=list)

    def name(self):
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page}:{self.line}"


def blocks_of(page):
    found, needs, given, start, previous = [], set(), [], None, None
    lines = page.read_text().splitlines()
    for n, line in enumerate(lines, 1):
        if start is not None:
            if line == "```":
                block = Block(page, start + 1, language, lines[start:n - 1], needs, given)
                if language == "text" and previous and previous.language == "cpp":
                    previous.shown = block
                if language in {"sh", "console"} and not needs and re.search(CHANGES_THE_MACHINE, "\n".join(block.text)):
                    sys.exit(f"{block.name()}: it changes the machine; put <!-- needs: … --> before it")
                found.append(block)
                needs, given, start, previous = set(), [], None, block
        elif line.startswith("```"):
            start, language = n, line[3:]
            if not language:
                sys.exit(f"{page}:{n}: a block without a language; use sh, console, cpp, or text")
        elif m := re.fullmatch(r"<!-- needs: (.*) -->", line):
            needs |= set(m[1].split(", "))
            if unknown := {need for need in needs if need not in NEEDS and not need.startswith("program:")}:
                sys.exit(f"{page}:{n}: nobody knows what '{unknown.pop()}' is; use {', '.join(sorted(NEEDS))} or program:NAME")
        elif m := re.fullmatch(r"<!-- given: (.*) -->", line):
            given.append(m[1])
        elif m := re.fullmatch(r"<!-- tested by: (.*) -->", line):
            if not (ROOT / m[1]).exists():
                sys.exit(f"{page}:{n}: {m[1]} is not there")
            return []
        elif line.startswith("<!--"):
            sys.exit(f"{page}:{n}: a comment that is neither 'needs: …', 'given: …' nor 'tested by: …'")
        elif line:
            previous, needs, given = None, set(), []
    if start is not None:
        sys.exit(f"{page}:{start}: the block does not end")
    return found


def missing_needs(block, more):
    def there(need):
        if need in more:
            return True
        if need == "weights":
            return (Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / MODEL).exists()
        if need.startswith("program:"):
            return shutil.which(need[8:]) is not None
        return need == "ttsim" and bool(os.environ.get("TTSIM"))

    return sorted(need for need in block.needs if not there(need))


def run(command, environment):
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"no end after {SECONDS} s", ""
    return done.returncode, done.stdout, done.stderr


def matches(shown, printed):
    """Whether `printed`, a list of lines, is what the page shows: … stands for any text, alone on a line for any lines."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(matches(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    line = ".*".join(re.escape(part) for part in shown[0].split("…"))
    return bool(printed) and re.fullmatch(line, printed[0]) is not None and matches(shown[1:], printed[1:])


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = dict(os.environ, BARETILE_DEVICE=options.device)

    def command(self, block, text):
        """What a command printed; a failure of the block if it failed."""
        build = os.path.relpath(self.options.build, ROOT)
        code, out, err = run(["bash", "-euo", "pipefail", "-c", text.replace("build/release", build)], self.environment)
        if code != 0:
            block.failures.append(f"'{text}' ended with {code}:\n{out}{err}")
        return out.replace(build, "build/release")

    def compare(self, block, shown, printed, what):
        """A failure of the block if it shows something else than what was printed. What it shall show: the latter, then, with --update."""
        lines = printed.rstrip().splitlines()
        if matches(shown, lines):
            return shown
        if self.options.update:
            return lines
        block.failures.append(f"{what} printed\n{printed.rstrip()}\nand the page shows\n" + "\n".join(shown))
        return shown

    def sh(self, block):
        self.command(block, "\n".join(block.text))

    def console(self, block):
        groups, new = [], []
        for line in block.text:
            if line.startswith("$ "):
                groups.append((line[2:], []))
            elif not groups:
                sys.exit(f"{block.name()}: a console block begins with a line '$ command'")
            else:
                groups[-1][1].append(line)
        for text, shown in groups:
            new += [f"$ {text}", *self.compare(block, shown, self.command(block, text), f"'{text}'")]
        block.text = new

    def build_snippets(self, blocks):
        """All snippets as one program, which takes the number of the one to run."""
        source, cases = [f"#include <{header}>" for header in HEADERS] + ["using namespace baretile;"], []
        for n, block in enumerate(blocks):
            code = "\n".join("" if re.match(r"#include|using namespace", line) else line for line in block.text)
            at = f'#line {block.line} "{block.page}"'
            if "int main(" in code:
                source += [f"namespace block_{n} {{", at, code, "}"]
                cases.append(f"case {n}: return block_{n}::main();")
            else:
                runtime = "" if "Runtime rt" in code else "Runtime rt;"
                source += [f"void block_{n}() {{ {runtime} {' '.join(block.given)} {{", at, code, "} }"]
                cases.append(f"case {n}: block_{n}(); return 0;")
        source.append("int main(int, char** words) try { switch (std::stoi(words[1])) { " + " ".join(cases) + " } return 1; }"
                      " catch (const std::exception& error) { std::cerr << error.what() << '\\n'; return 1; }")
        path, library = self.folder / "snippets.cpp", self.options.build / "lib"
        path.write_text("\n".join(source) + "\n")
        code, out, err = run([*self.options.cxx.split(), "-std=c++20", "-O0", "-w", f"-I{ROOT}/include", str(path), "-o", str(self.folder / "snippets"),
                              f"-L{library}", "-lbaretile", f"-Wl,-rpath,{library}"], self.environment)
        if code != 0:
            for block in blocks:
                block.failures.append("the snippets do not build; see the first block that failed" if block is not blocks[0] else err)
            return
        for n, block in enumerate(blocks):
            code, out, err = run([str(self.folder / "snippets"), str(n)], self.environment)
            if code != 0:
                block.failures.append(f"it ended with {code}:\n{out}{err}")
            prints = [m[1] for line in block.text if (m := re.search(r"// prints (.*)$", line))]
            if prints and not matches(prints, out.rstrip().splitlines()):
                block.failures.append(f"it printed\n{out.rstrip()}\nand the page says that it prints\n" + "\n".join(prints))
            if block.shown:
                block.shown.text = self.compare(block, block.shown.text, out, "it")


def rewrite(pages):
    for page, blocks in pages.items():
        lines = page.read_text().splitlines()
        for block in reversed(blocks):
            end = lines.index("```", block.line - 1)
            lines[block.line - 1:end] = block.text
        page.write_text("\n".join(lines) + "\n")


def ramps_without_output(blocks):
    """Each ramp's output is on docs/ramps.md."""
    shown = {line for block in blocks if block.language == "console" for line in block.text}
    return [p.stem for p in sorted((ROOT / "ramps").glob("*.cpp")) if f"$ build/release/ramps/{p.stem}" not in shown]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--device", default="sim")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--with", dest="more", default="")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", nargs="*", type=Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.device == "ttsim" and not os.environ.get("TTSIM"):
        print("skipped: TTSIM names no library")
        return 77
    paths = options.pages or [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    pages = {path.resolve(): blocks_of(path.resolve()) for path in paths}
    blocks = [b for page in pages.values() for b in page if b.language in {"sh", "console", "cpp"}]
    skipped = {id(b): m for b in blocks if (m := missing_needs(b, options.more.split(",")))}
    todo = [b for b in blocks if id(b) not in skipped]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, Path(folder))
        snippets = [b for b in todo if b.language == "cpp"]
        if snippets:
            runner.build_snippets(snippets)
        for block in todo:
            if block.language != "cpp":
                getattr(runner, block.language)(block)
    if options.update:
        rewrite(pages)
    for block in blocks:
        if id(block) in skipped:
            print(f"{block.name()}: not run, needs {', '.join(skipped[id(block)])}")
        for failure in block.failures:
            print(f"{block.name()}: {failure}")
    missing = ramps_without_output(pages.get(ROOT / "docs/ramps.md", [])) if ROOT / "docs/ramps.md" in pages else []
    for ramp in missing:
        print(f"docs/ramps.md: the output of ramps/{ramp}.cpp is not there; add its command in a console block and run with --update")
    failed = sum(bool(b.failures) for b in blocks)
    print(f"{len(todo)} blocks run, {failed} failed, {len(skipped)} not run")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
