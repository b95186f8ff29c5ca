#!/usr/bin/env python3
"""Makes the book as the target `docs` does: what the program knows is in its pages, no link in it is broken, and nothing but a book
is replaced by it.

Usage: book.py PROGRAM ROOT WORK [PANDOC]; without PANDOC the pages stay Markdown.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

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


def make(root, output, **how):
    return subprocess.run([sys.executable, ROOT / "docs" / "make_book.py", PROGRAM, root, output, *PANDOC], **how)


def refuses(root, output):
    """What is not made in place of a folder, which keeps its files."""
    before = sorted(output.rglob("*"))
    done = make(root, output, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0 or "cannot be" not in done.stderr or sorted(output.rglob("*")) != before:
        sys.exit(f"{output} was replaced by a book of {root}\n{done.stderr}")


with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder, "tree")
    (tree / "docs" / "reference").mkdir(parents=True)
    (tree / "docs" / "reference" / "keys.md").write_text("# Keys\n", encoding="utf-8")  # As if it were a book.
    pathlib.Path(folder, "mine.txt").write_text("mine\n", encoding="utf-8")
    refuses(tree, tree)
    refuses(tree / "docs", tree)
    refuses(tree, pathlib.Path(folder))
    refuses(ROOT, pathlib.Path(folder))
make(ROOT, WORK, check=True)
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
