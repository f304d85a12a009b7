#!/usr/bin/env python3
"""What Doxygen reads of a public header (INPUT_FILTER of docs/Doxyfile): comments marked as its own, and a declaration for each row of ops.def.

    tools/doxygen_filter.py HEADER
"""
import re
import sys
from pathlib import Path

OPERANDS = {"UNARY": "const Tensor& x", "BINARY": "const Tensor& x, const Tensor& y", "TERNARY": "const Tensor& x, const Tensor& y, const Tensor& z",
            "REDUCE": "const Tensor& x, const std::vector<i64>& axes, bool keepdims = false"}


def operations(ops, about):
    """A declaration for each row, in a group with what the header says before the macro of such rows."""
    for text, kinds in about.items():
        yield from ["/// @name Rows of ops.def", *comment(text, "///"), "/// @{"]
        for kind, name, doc in re.findall(r'^(\w+)\((\w+),\s*"([^"]*)"', ops.read_text(), flags=re.M):
            if kind in kinds:
                yield from [f"/// {escaped(doc)}", f"Tensor {name}({OPERANDS[kind]});"]
        yield "/// @}"


def escaped(text):
    """Nothing in a comment is a command of Doxygen's, HTML or a link by accident."""
    return re.sub(r"[\\@<>#&%\"]", lambda m: "\\" + m[0], text)


def comment(lines, mark):
    """A block of lines without their slashes; what is indented is code."""
    code = False
    for line in lines:
        example = line.startswith("   ")
        if example != code:
            yield f"{mark} @{'code{.cpp}' if example else 'endcode'}"
        code = example
        yield f"{mark}{line if example else escaped(line)}"
    if code:
        yield f"{mark} @endcode"


def main():
    path = Path(sys.argv[1])
    lines, n, first, about, before = path.read_text().splitlines(), 0, True, {}, ()
    while n < len(lines):
        line = lines[n]
        if re.match(r"\s*//", line):
            end = n
            while end < len(lines) and re.match(r"\s*//", lines[end]):
                end += 1
            text = [re.match(r"\s*//(.*)", l)[1] for l in lines[n:end]]
            if first:
                print("\n".join(["/// @file", *comment(text, "///")]))
            elif end < len(lines) and not re.match(r"\s*(#|$)", lines[end]):  # else it is about no declaration
                print("\n".join(comment(text, "///")))
            n, first, before = end, False, tuple(text)
            continue
        first = False
        macro = re.match(r"#define (\w+)\(", line)
        if macro and macro[1] in OPERANDS:
            about.setdefault(before, []).append(macro[1])
        trailing = re.match(r"(.*\S)\s+// (.*)$", line)
        if line.startswith('#include "baretile/ops.def"'):
            print("\n".join(operations(path.parent / "ops.def", about)))
        elif trailing and not line.lstrip().startswith("#"):
            column, text = line.index("// ", len(trailing[1])), [trailing[2]]
            while n + 1 < len(lines) and lines[n + 1].startswith(" " * column + "// "):
                n += 1
                text.append(lines[n][column + 3:])
            print(f"{trailing[1]}  ///< {escaped(' '.join(text))}")
        else:
            print(line)
        n += 1


if __name__ == "__main__":
    main()
