#!/usr/bin/env python3
"""Makes the book as the target `docs` does: what the program knows is in its pages, and no link in it is broken.

Usage: book.py PROGRAM ROOT WORK [PANDOC]; without PANDOC the pages stay Markdown.
"""
import json
import pathlib
import re
import subprocess
import sys

PROGRAM, ROOT, WORK = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
PANDOC = sys.argv[4:5]


def broken(page):
    """Links and anchors of a page in HTML that lead nowhere in the book."""
    for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        place = page.parent / path if path else page
        if not place.exists() or (anchor and f'id="{anchor}"' not in place.read_text(encoding="utf-8")):
            yield f"{page.relative_to(WORK)}: {link}"


subprocess.run([sys.executable, ROOT / "docs" / "make_book.py", PROGRAM, ROOT, WORK, *PANDOC], check=True)
registry = json.loads(subprocess.run([PROGRAM, "registry", "--json"], capture_output=True, text=True, check=True).stdout)
faults = []
for name in ("layers", "tasks", "strategies", "commands"):
    text = (WORK / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    faults += [f"{name}.md lacks {row['name']}" for row in registry[name] if f"\n## {row['name']}\n" not in text]
keys = (WORK / "docs" / "reference" / "keys.md").read_text(encoding="utf-8")
faults += [f"keys.md lacks {name}" for name in registry["config"]["properties"] if f"\n## {name}\n" not in keys and name != "$schema"
           and name != "extends"]
pages = sorted(WORK.rglob("*.html"))
faults += [fault for page in pages for fault in broken(page)]
if PANDOC and len(pages) != len(list(WORK.rglob("*.md"))):
    faults.append(f"{len(pages)} pages of HTML")
if faults:
    sys.exit("\n".join(faults))
subprocess.run([sys.executable, ROOT / "tests" / "docs" / "pages.py", PROGRAM, WORK], check=True)
