#!/usr/bin/env python3
"""Draws the pictures of the pages, docs/images/*.svg, from what stands here and in the sources.

    tools/pictures.py            writes them
    tools/pictures.py --check    exit code 1 if a file is not what this script draws
"""
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import check_repo

FOLDER = check_repo.ROOT / "docs/images"
# Boxes are tinted and outlined in a colour that shows on white and on black; text and arrows follow the reader's scheme.
COLOURS = {"blue": "#388bfd", "green": "#2da44e", "orange": "#d4870b", "purple": "#a371f7", "red": "#e5534b", "grey": "#8b949e"}
STYLE = """text{font:14px Helvetica,Arial,sans-serif;fill:#1f2328}.s{font-size:12px}.b{font-weight:bold}.m{font:12px monospace}
.line{stroke:#57606a;stroke-width:1.5;fill:none}.tip{fill:#57606a}.back{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.line{stroke:#9da7b3}.tip{fill:#9da7b3}.back{fill:#0d1117}}"""
LINE = 17  # from one line of text to the next


class Picture:
    def __init__(self, width, height, title):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
                      f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
                      '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">'
                      '<path d="M0 0L8 4L0 8z" class="tip"/></marker></defs>']

    def text(self, x, y, text, kind="", anchor="middle"):
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>')

    def box(self, x, y, width, height, lines=(), colour="grey", dashed=False, kind="s"):
        """The first line is bold; all are centred."""
        tint = COLOURS[colour]
        place = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="4"'
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<rect {place} class="back"/><rect {place} fill="{tint}" fill-opacity="{0.05 if dashed else 0.18}" stroke="{tint}"{dashes}/>')
        top = y + height / 2 - (len(lines) - 1) * LINE / 2 + 5
        for n, line in enumerate(lines):
            self.text(x + width / 2, round(top + n * LINE, 1), line, "b" if n == 0 else kind)

    def arrow(self, *points, both=False, tip=True):
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        ends = (' marker-end="url(#tip)"' if tip else "") + (' marker-start="url(#tip)"' if both else "")
        self.parts.append(f'<path d="{path}" class="line"{ends}/>')

    def svg(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def grid_constant(name):
    text = (check_repo.ROOT / "include/baretile/isa/grid.h").read_text()
    return [int(n) for n in re.search(name + r"(?:\[\d*\])? = \{?(\d+(?:, \d+)*)", text)[1].split(",")]


def grid():
    """Raw NoC 0 coordinates, as BlackholeA0/NoC/Coordinates.md has them; the Tensix tiles come from isa/grid.h."""
    columns, row0, rows = grid_constant("kTensixColumns"), grid_constant("kTensixRow0")[0], grid_constant("kTensixRows")[0]
    live = columns[:12]
    tiles = {(x, y): ("", "blue") if x in live else ("off", "grey") for x in columns for y in range(row0, row0 + rows)}
    tiles[live[-1], row0 + rows - 1] = ("dispatch", "purple")
    banks = [(0, 1, 11), (2, 3, 10), (4, 8, 9), (5, 6, 7)]
    tiles |= {(9 * side, y): (f"bank {4 * side + b}", "green") for side in (0, 1) for b in range(4) for y in banks[b]}
    tiles |= {(x, 1): ("eth", "orange") for x in columns}
    tiles |= {(2, 0): ("PCIe", "red"), (11, 0): ("PCIe", "red"), (8, 0): ("ARC", "red"), (8, 2): ("security", "grey")}
    tiles |= {(8, y): ("L2CPU", "grey") for y in (3, 5, 7, 9)}
    w, h, left, top = 60, 30, 30, 30
    p = Picture(left + 17 * w + 10, top + 12 * h + 50, "The tiles of a Blackhole chip on its NoC grid")
    for x in range(17):
        p.text(left + x * w + w / 2, 20, str(x), "s")
    for y in range(12):
        p.text(15, top + y * h + 19, str(y), "s")
        for x in range(17):
            text, colour = tiles.get((x, y), (None, "grey"))
            if text is not None:
                p.box(left + x * w + 2, top + y * h + 2, w - 4, h - 4, (), colour, dashed=text == "off")
                p.text(left + x * w + w / 2, top + y * h + 19, text, "s")
    legend = [("Tensix", "blue"), ("Tensix that dispatches", "purple"), ("DRAM, three ports a bank", "green"), ("Ethernet", "orange"), ("host and board", "red"),
              ("not used here, or off", "grey")]
    x = left
    for text, colour in legend:
        p.box(x, top + 12 * h + 16, 16, 16, (), colour)
        p.text(x + 22, top + 12 * h + 29, text, "s", "start")
        x += 44 + 7 * len(text)
    return p


def tile():
    p = Picture(860, 440, "A Tensix tile: five cores, the coprocessor's units, L1 and two NoC interfaces")
    cores = [("NCRISC", "reads pages", "green"), ("TRISC0", "drives the unpackers", "blue"), ("TRISC1", "drives both units", "blue"),
             ("TRISC2", "drives the packer", "blue"), ("BRISC", "writes pages", "green")]
    for n, (name, role, colour) in enumerate(cores):
        p.box(20 + 168 * n, 20, 148, 52, (name, role), colour)
    p.box(178, 108, 504, 206, (), "grey", dashed=True)
    p.text(190, 126, "coprocessor", "s", "start")
    p.box(194, 142, 120, 44, ("Unpacker 1",), "orange")
    p.box(194, 256, 120, 44, ("Unpacker 0",), "orange")
    p.box(336, 142, 74, 44, ("SrcB", "64 x 16"), "purple")
    p.box(336, 256, 74, 44, ("SrcA", "64 x 16"), "purple")
    p.box(352, 202, 118, 40, ("Matrix unit", "FPU"), "red")
    p.box(494, 202, 76, 98, ("Dst", "512 x 16", "32-bit"), "purple")
    p.box(478, 126, 108, 44, ("Vector unit", "SFPU"), "red")
    p.box(590, 222, 80, 52, ("Packer",), "orange")
    p.box(20, 350, 820, 70, ("L1: 1,536 KiB of memory", "programs, circular buffers, mailbox"), "green")
    p.box(20, 222, 120, 52, ("NIU 0", "to NoC 0"), "green")
    p.box(720, 222, 120, 52, ("NIU 1", "to NoC 1"), "green")
    p.arrow((94, 72), (94, 222))
    p.arrow((80, 274), (80, 350), both=True)
    p.arrow((766, 72), (766, 222))
    p.arrow((780, 274), (780, 350), both=True)
    p.arrow((290, 72), (290, 142))
    p.arrow((440, 72), (440, 202))
    p.arrow((478, 72), (520, 126))
    p.arrow((630, 72), (630, 222))
    p.arrow((240, 350), (240, 300))
    p.arrow((184, 350), (184, 164), (194, 164))
    p.arrow((314, 164), (336, 164))
    p.arrow((314, 278), (336, 278))
    p.arrow((390, 186), (390, 202))
    p.arrow((390, 256), (390, 242))
    p.arrow((470, 222), (494, 222))
    p.arrow((532, 170), (532, 202), both=True)
    p.arrow((570, 248), (590, 248))
    p.arrow((640, 274), (640, 350))
    p.arrow((300, 300), (300, 330), (532, 330), (532, 300))
    p.text(416, 345, "32-bit values go straight to Dst", "s")
    return p


def launch():
    p = Picture(860, 500, "The path of a launch from the host to all workers and back")
    lanes = [(130, "Host", "Runtime::run", "orange"), (430, "Dispatch tile", "its BRISC", "purple"), (730, "Workers", "all other tiles", "blue")]
    for x, name, role, colour in lanes:
        p.arrow((x, 72), (x, 490), tip=False)
        p.box(x - 90, 20, 180, 52, (name, role), colour)
    steps = [(110, 0, 1, "kernel images that are not there yet go to every L1 (multicast)", None),
             (150, 0, 1, "records of 256 bytes into the ring, a fence last", None),
             (190, 0, 1, "doorbell: written", None),
             (230, 1, 2, "launch record, 224 bytes (multicast)", None),
             (270, 1, 2, "its sequence number (multicast)", None),
             (390, 2, 1, "acks + 1 from every worker (NoC atomic)", None),
             (430, 1, 1, None, "next record, or at the fence: completed = its number"),
             (470, 1, 0, "completed, read by the host until it is there", None)]
    for y, start, end, above, own in steps:
        if own:
            p.box(lanes[start][0] - 185, y - 16, 370, 26, (), "purple")
            p.text(lanes[start][0], y + 2, own, "s")
            continue
        last = 730 if y == 110 else lanes[end][0]
        p.arrow((lanes[start][0], y), (last, y))
        p.text((lanes[start][0] + last) / 2, y - 6, above, "s")
    p.box(640, 290, 180, 76, ("the kernel runs", "BRISC lets the others go,", "runs its own part, waits"), "blue")
    return p


def stages():
    p = Picture(860, 492, "The stages of the compiler")
    rows = [("Tensors", "expressions, written down as they are called", "tensor", "orange"),
            ("Graph", "nodes: operation, shape, dtype, inputs", "capture", "blue"),
            ("FusionPlan", "which nodes make one kernel; which values go to memory, why, in which layout", "fuse", "blue"),
            ("Schedule", "kernels in order, buffers, where temporaries lie", "schedule", "blue"),
            ("Sources", "one C++ text a kernel: five functions, for the five cores", "emit", "blue"),
            ("Images", "RISC-V code from clang and lld, kept on disk by a hash of source and flags", "build", "blue"),
            ("Program", "all that the runtime needs: images, buffers, launches; a plain value", "pack", "green")]
    for n, (name, what, function, colour) in enumerate(rows):
        y = 20 + 66 * n
        p.box(150, y, 150, 40, (name,), colour)
        p.text(320, y + 25, what, "s", "start")
        if n:
            p.arrow((225, y - 26), (225, y))
            p.text(140, y - 8, function, "m", "end")
    return p


def layers():
    """Boxes and arrows from check_repo.LAYERS: a folder stands above all it may include; arrows that follow from others are left out."""
    names = {f: f.removeprefix("src/").replace("include/baretile/isa", "isa").replace("include/baretile", "public") for f in check_repo.LAYERS}
    below = {names[f]: {n for n in allowed if n in names.values() and n != names[f]} for f, (_, allowed) in check_repo.LAYERS.items()
             if f not in {"tools", "bench", "kernels/debug", "kernels/sfpu", "kernels/whole", "src/compiler/custom", "include/baretile/capi.h", "include/baretile/custom.h"}}
    below["kernels"] = below["kernels"] & set(below)

    def height(name):
        return 1 + max((height(n) for n in below[name]), default=-1)

    def reach(name):
        return below[name] | {m for n in below[name] for m in reach(n)}

    rows = {}
    for name in below:
        rows.setdefault(height(name), []).append(name)
    width, step, top = 1000, 74, 20
    place = {}
    for level, members in rows.items():
        for n, name in enumerate(members):
            place[name] = (round(width * (n + 1) / (len(members) + 1)), top + (max(rows) - level) * step)
    p = Picture(width, 2 * top + max(rows) * step + 34, "Which layer may include which")
    for name, lower in below.items():
        for other in sorted(lower - {m for n in lower for m in reach(n)}):
            p.arrow((place[name][0], place[name][1] + 34), (place[other][0], place[other][1]))
    for name, (x, y) in place.items():
        p.box(x - 52, y, 104, 34, (name,), "green" if name in {"isa", "public"} else "purple" if name == "sim" else "orange" if name == "kernels" else "blue")
    return p


def kernel():
    p = Picture(980, 330, "The five programs of a kernel and what lies between them")
    programs = [("NCRISC", "reader", "kernel_ncrisc", "green"), ("TRISC0", "unpack", "kernel_trisc0", "blue"), ("TRISC1", "math", "kernel_trisc1", "blue"),
                ("TRISC2", "pack", "kernel_trisc2", "blue"), ("BRISC", "writer", "kernel_brisc", "green")]
    for n, (core, role, function, colour) in enumerate(programs):
        p.box(20 + 200 * n, 20, 140, 72, (core, role, function), colour)
    between = [(160, "Input ring", ("in L1, 896 KiB", "counters", "pushed, popped"), "orange"), (360, "SrcA, SrcB, Dst", ("banks with a", "valid flag;", "semaphores"), "purple"),
               (560, "Dst", ("registers", "semaphore", "DstDone"), "purple"), (760, "Output ring", ("in L1, 256 KiB", "counters", "pushed, popped"), "orange")]
    for x, name, lines, colour in between:
        p.box(x - 50, 150, 140, 88, (name, *lines), colour)
        p.arrow((x - 20, 92), (x - 20, 150))
        p.arrow((x + 60, 150), (x + 60, 92))
    p.box(20, 280, 940, 34, ("DRAM: pages of 32 x 32 values, spread over the banks",), "green")
    p.arrow((60, 280), (60, 92))
    p.arrow((920, 92), (920, 280))
    return p


PICTURES = (grid, tile, launch, stages, layers, kernel)


def main():
    wrong = 0
    for draw in PICTURES:
        path, svg = FOLDER / f"{draw.__name__}.svg", draw().svg()
        if "--check" not in sys.argv:
            path.write_text(svg)
        elif not path.exists() or path.read_text() != svg:
            print(f"{path.relative_to(check_repo.ROOT)} is not what tools/pictures.py draws; run it and commit the result")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
