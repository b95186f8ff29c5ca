#!/usr/bin/env python3
"""Makes the book: the pages of the tree, those that the program makes of itself, and HTML of all where pandoc is given.

Usage: make_book.py PROGRAM ROOT OUTPUT [PANDOC]. Nothing is asked of the network; OUTPUT is replaced where it is a book.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
MADE = "docs/reference/keys.md"  # The first file of a book, which no tree has.
STYLE = """<style>
body{font:16px/1.55 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{padding:.25em .8em .25em 0;text-align:left;vertical-align:top;border-bottom:1px solid #e4e4e4}
pre{background:#f5f7fa;padding:.8em;overflow-x:auto}code{font-size:.9em}img{max-width:100%}nav{color:#666}
</style>"""


def cell(value):
    """A text as a cell of a table in Markdown."""
    return str(value).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def fields(rows):
    if not rows:
        return ""
    lines = ["| name | what | allowed | default |", "|---|---|---|---|"]
    for row in rows:
        default = "" if row.get("default") is None else json.dumps(row["default"], ensure_ascii=False)
        lines.append(f"| `{cell(row['name'])}` | {cell(row.get('meaning', ''))} | {cell(row.get('allowed', ''))} | {cell(default)} |")
    return "\n".join(lines) + "\n"


def entries(title, rows, about):
    """A page with a heading for each entry of the registry."""
    text = f"# {title}\n\nMade by `{about}`.\n"
    for row in rows:
        text += f"\n## {row['name']}\n{row.get('summary') or ''}\n"
        for key in ("formula", "source"):
            if row.get(key):
                text += f"\n{key}: {row[key]}\n"
        text += "\n" + fields(row.get("fields", []))
    return text


def reference(program):
    """The pages that the program makes of itself, by their names."""
    ask = lambda *arguments: subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    registry = json.loads(ask("registry", "--json"))
    return {
        "keys": ask("explain", "--markdown"),
        "layers": entries("Layers", registry["layers"], "cambrian layers"),
        "tasks": entries("Tasks and their keys", registry["tasks"], "cambrian explain task"),
        "strategies": entries("Strategies", registry["strategies"], "cambrian explain strategy"),
        "commands": entries("Commands and their options", registry["commands"], "cambrian manual"),
        "operations": "# Operations\n\nMade by `cambrian ops`.\n\n```\n" + ask("ops") + "```\n",
    }


def outside_code(text, change):
    return "".join(part if part.lstrip().startswith("```") else change(part) for part in FENCE.split(text))


def pages_of(root):
    """All pages of a tree: those of git where there is git, else all but those of hidden folders, builds and runs."""
    command = ["git", "-C", root, "ls-files", "-z", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout if (root / ".git").exists() else ""
    if listed:
        found = [root / name for name in listed.split("\0") if name]
    else:
        inside = lambda page: page.relative_to(root).parts[:-1]
        found = [page for page in root.rglob("*.md") if not any(part.startswith(".") for part in inside(page))
                 and not "".join(inside(page)[:1]).startswith(("build", "runs"))]
    return sorted(page for page in found if page.is_file())


def collect(root, output):
    """Copies all pages, and the files of the tree that they show or lead to."""
    for page in pages_of(root):
        if page.is_relative_to(output):
            continue
        wanted = {page} | {(page.parent / target).resolve() for _, target, _ in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
                           if not re.match(r"[a-z]+:", target)}
        for file in wanted:
            if file.is_file() and file.is_relative_to(root):
                place = output / file.relative_to(root)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)


def html(pandoc, output):
    """Each page beside its Markdown; links lead from page to page."""
    style = output / "style.html"
    style.write_text(STYLE, encoding="utf-8")
    for page in sorted(output.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        text = outside_code(text, lambda part: LINK.sub(
            lambda m: m[1] + (re.sub(r"\.md$", ".html", m[2]) if not re.match(r"[a-z]+:", m[2]) else m[2]) + m[3], part))
        home = "/".join([".."] * (len(page.relative_to(output).parts) - 1) + ["docs/README.html"])
        text = f'<nav><a href="{home}">Cambrian, the book</a></nav>\n\n{text}'
        subprocess.run([pandoc, "--from=gfm", "--to=html5", "--standalone", f"--include-in-header={style}",
                        f"--metadata=pagetitle:{title[1] if title else page.stem}", f"--output={page.with_suffix('.html')}"],
                       input=text, text=True, check=True)
    style.unlink()


def clear(root, output):
    """Removes the book that was made before; refuses whatever is none."""
    if root.is_relative_to(output):
        sys.exit(f"{output} cannot be the book (the tree lies in it) name a folder of its own")
    if output.exists() and not (output / MADE).is_file() and (not output.is_dir() or any(output.iterdir())):
        sys.exit(f"{output} cannot be replaced (it is no book: it has no {MADE}) name another folder, or remove it")
    if output.exists():
        shutil.rmtree(output)


def main():
    program, root, output = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
    pages = reference(program)
    clear(root, output)
    for name, text in pages.items():
        place = (output / MADE).with_name(f"{name}.md")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    collect(root, output)
    index = output / "docs" / "README.md"
    links = "\n".join(f"- [{text.splitlines()[0].lstrip('# ')}](reference/{name}.md)" for name, text in pages.items())
    index.write_text(index.read_text(encoding="utf-8") + f"\n## Made by the program\n{links}\n", encoding="utf-8")
    if len(sys.argv) > 4:
        html(sys.argv[4], output)
    print(f"{output}/docs/README.{'html' if len(sys.argv) > 4 else 'md'}: {len(list(output.rglob('*.md')))} pages")


if __name__ == "__main__":
    main()
