#!/usr/bin/env python3
"""Writes tables.inl from Python's own tables of Unicode.

Usage: engine/text/unicode/tables.py           writes it
       engine/text/unicode/tables.py --check   exit status 1 where it would become another
"""
import os
import sys
import unicodedata

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables.inl")
LAST = 0x10FFFF
# Bits of unicode::Classes.
LETTER, HEAD, TAIL, NUMBER, SPACE, WORD = (1 << bit for bit in range(6))
WHITE_SPACE = set([*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
# Alphabetic without being letters, marks or numerals (circled and squared letters), and joiners.
OTHER_WORD = set([*range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A), *range(0x1F170, 0x1F18A), 0x200C, 0x200D])


def classes(code):
    category = unicodedata.category(chr(code))
    bits = 0
    if category[0] == "L":
        bits |= LETTER
    if category in ("Lu", "Lt", "Lm", "Lo") or category[0] == "M":
        bits |= HEAD
    if category in ("Ll", "Lm", "Lo") or category[0] == "M":
        bits |= TAIL
    if category[0] == "N":
        bits |= NUMBER
    if code in WHITE_SPACE:
        bits |= SPACE
    if category[0] in "LM" or category in ("Nd", "Nl", "Pc") or code in OTHER_WORD:
        bits |= WORD
    return bits


def runs(function):
    """Where a function of the code changes, and what it is from there on."""
    result = []
    for code in range(LAST + 1):
        value = function(code)
        if not result or result[-1][1] != value:
            result.append((code, value))
    return result


def decompositions():
    for code in range(LAST + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if parts and not parts[0].startswith("<"):
            yield code, int(parts[0], 16), int(parts[1], 16) if len(parts) > 1 else 0


def table(kind, name, rows):
    cells = ["{" + ", ".join(f"0x{value:X}" if value > 9 else str(value) for value in row) + "}" for row in rows]
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > 130:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    lines.append(line)
    return f"constexpr std::array<{kind}, {len(cells)}> {name}{{{{\n" + "\n".join(lines) + "\n}};\n"


def text():
    pairs = list(decompositions())
    composed = sorted((first, second, code) for code, first, second in pairs
                      if second and unicodedata.normalize("NFC", chr(code)) == chr(code))
    index = {code: place for place, (code, _, _) in enumerate(pairs)}
    order = [f"{index[code]}" for _, _, code in composed]
    lines = [", ".join(order[at:at + 24]) for at in range(0, len(order), 24)]
    return (f"// Written by tables.py, Unicode {unicodedata.unidata_version}.\n// clang-format off\n"
            "// Where the classes of characters change.\n" + table("ClassRun", "class_runs", runs(classes)) +
            "// Where the canonical combining class changes.\n" +
            table("ClassRun", "combining_runs", runs(lambda code: unicodedata.combining(chr(code)))) +
            "// Canonical decompositions, one step; 0: of a single character.\n" +
            table("Decomposition", "decompositions", pairs) +
            "// Those that are composed again, by their two parts.\n" +
            f"constexpr std::array<std::uint16_t, {len(order)}> compositions{{\n    " + ",\n    ".join(lines) + "};\n")


def main():
    if sys.argv[1:] == ["--check"]:
        with open(PATH, encoding="utf-8") as file:
            held = file.read()
        if f"Unicode {unicodedata.unidata_version}." not in held:
            print(f"skipped: this Python knows Unicode {unicodedata.unidata_version}, the tables are of another")
            return 0
        return 0 if held == text() else 1
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
