#!/usr/bin/env python3
"""Prints the text whose hash tests/engine/text/unicode_test.cpp holds: every character composed after an A and before
an acute accent, by Python's unicodedata.
"""
import sys
import unicodedata

print(f"Unicode {unicodedata.unidata_version}", file=sys.stderr)
for code in range(1, 0x110000):
    if not 0xD800 <= code < 0xE000:
        sys.stdout.buffer.write((unicodedata.normalize("NFC", "A" + chr(code) + "\u0301") + "\n").encode())
