#!/usr/bin/env python3
"""Counts what the shape of the tree is judged by: files in a folder, small files, headers hardly used, lines.

Usage: counts.py SOURCE_DIRECTORY
"""
import collections
import os
import re
import subprocess
import sys

MODULES = ("engine", "gpu", "evolve", "distributed", "launch")


def main():
    root = sys.argv[1]
    names = subprocess.run(["git", "-C", root, "ls-files", *MODULES, "tests"], check=True, capture_output=True,
                           text=True).stdout.split()
    names = [name for name in names if name.endswith((".hpp", ".cpp", ".inl", ".comp", ".glsl"))]
    texts = {name: open(os.path.join(root, name), encoding="utf-8").read() for name in names}
    own = {name: text for name, text in texts.items() if not name.startswith("tests/")}
    folders = collections.Counter(os.path.dirname(name) for name in own)
    users = collections.defaultdict(set)
    for name, text in own.items():
        for target in re.findall(r'#include "cambrian/([^"]+)"', text):
            users[target].add(name)
    headers = [name for name in own if name.endswith(".hpp")]
    one_user = [name for name in headers
                if len({u for u in users[name] if os.path.splitext(u)[0] != os.path.splitext(name)[0]}) <= 1]
    small = [name for name, text in own.items() if text.count("\n") < 40]
    print(f"folder with the most files: {folders.most_common(1)[0][0]} with {folders.most_common(1)[0][1]}")
    print(f"files under 40 lines: {len(small)} of {len(own)}")
    print(f"headers with one user outside of their pair at most: {len(one_user)} of {len(headers)}")
    print(f"lines: {sum(t.count(chr(10)) for t in own.values())} of the modules, "
          f"{sum(t.count(chr(10)) for n, t in texts.items() if n.startswith('tests/'))} of tests")
    if "--list" in sys.argv:
        print("\n".join(["small:"] + sorted(small) + ["one user:"] + sorted(one_user)))


main()
