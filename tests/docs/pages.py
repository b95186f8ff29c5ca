#!/usr/bin/env python3
"""Every page of the tree: relative links and anchors lead somewhere, command lines name what the program has, no two begin a
run in one directory, and the number of its arithmetic is the program's.

Usage: pages.py PROGRAM ROOT. Of `cambrian ..` in code the sub-command, its options and the keys after --set and --over are checked, as
are the options of `cambrian_scaling ..`; what a page only hints at ("..", capitals, angle brackets) is left alone.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "docs"))
from make_book import pages_of  # noqa: E402

PROGRAM, ROOT = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SHELL = {"", "sh", "bash", "console"}
CALL = re.compile(r"(?:^|[\s;&|(\"'])(?:[\w$./\"{}-]*/)?(cambrian|cambrian_scaling)\"?\s+(.*)")


def output(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def slug(heading):
    """The anchor of a heading, as GitHub and pandoc's gfm make it."""
    text = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(text):
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)}


def broken_links(page, text):
    for target in LINK.findall(SPAN.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text(encoding="utf-8")):
            yield f"the link {target} names no heading of {place.name}"


def other_arithmetic(text):
    """Numbers of the arithmetic that are not those of the source."""
    source = (SOURCES / "engine" / "backend" / "backend.hpp").read_text(encoding="utf-8")
    own = re.search(r'arithmetic_version = "(\d+)"', source).group(1)
    for number in re.findall(r"arithmetic (\d+)", text):
        if number != own:
            yield f"arithmetic {number} is {own} now"


def command_lines(text):
    """The words after each `cambrian` or `cambrian_scaling` of code."""
    blocks = [body.replace("\\\n", " ") for language, body in FENCE.findall(text) if language in SHELL]
    lines = [line for body in blocks for line in body.splitlines()] + SPAN.findall(FENCE.sub("", text))
    for line in lines:
        while match := CALL.search(line):  # Several commands may stand in a line.
            program, rest = match.groups()
            if ".py " not in line[:match.start(1)]:  # A script to which the program is an argument.
                yield program, words(rest)
            line = rest


def words(rest):
    """Up to where the shell begins another command or a comment."""
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    found = []
    try:
        for word in lexer:
            if set(word) <= set("|&;()<>"):
                break
            found.append(word)
    except ValueError:  # A quotation that goes on in the next line of its block.
        pass
    return found


class Program:
    def __init__(self):
        rows = json.loads(output(PROGRAM, "registry", "--json"))["commands"]
        self.options = {row["name"]: {name for field in row["fields"] for name in field["name"].split(",")} for row in rows}
        scaling = output(PROGRAM.with_name("cambrian_scaling"), "--help")
        self.scaling = set(re.findall(r"(?:^|[\s,])(--?[a-zA-Z][\w-]*)", scaling, re.MULTILINE))
        self.keys = {}

    def knows(self, key):
        """Whether a key of a config can be explained; a sweep and an assignment name it so."""
        if key not in self.keys:
            done = subprocess.run([PROGRAM, "explain", key], capture_output=True, check=False)
            self.keys[key] = done.returncode == 0
        return self.keys[key]

    def wrong(self, program, line):
        """What a command line names that there is not."""
        if program == "cambrian_scaling":
            known, rest = self.scaling, line
        elif line[0].startswith("-"):
            known, rest = {"--help", "--version", "-h"}, line
        elif line[0] in self.options:
            known, rest = self.options[line[0]], line[1:]
        else:
            yield f"no command {line[0]}"
            return
        for before, word in zip([""] + rest, rest):
            option = word.split("=")[0]
            if re.fullmatch(r"--?[a-zA-Z][\w-]*", option) and option not in known:
                yield f"{program} {line[0]} has no option {option}"
            key = word.split("=")[0]
            if before in ("--set", "--over") and "=" in word and re.fullmatch(r"[a-z_.0-9]+", key) and ".." not in key \
                    and not self.knows(key):
                yield f"no key {key}"


def begun_twice(text):
    """Runs of configs of the tree whose directory an earlier line of the page has taken."""
    begun = set()
    for _, line in command_lines(text):
        if line[:1] not in (["evolve"], ["train"]) or len(line) < 2 or not (ROOT / line[1]).is_file():
            continue
        if {"--dry-run", "--print-config", "--continue"} & set(line):
            continue
        keys = dict(word.split("=", 1) for before, word in zip(line, line[1:]) if before == "--set" and "=" in word)
        directory = keys.get("run.directory") or (line[1], keys.get("run.seed"))
        if directory in begun:
            yield f"`cambrian {' '.join(line)}` begins a run where another one of the page lies: give it a run.directory"
        begun.add(directory)


def hinted(line):
    """A line that only hints at a command: nothing after the name, dots, or a place-holder in its stead."""
    return not line or re.fullmatch(r"[A-Z<\[{…].*|\.\.+|…", line[0]) is not None


def main():
    program = Program()
    pages = pages_of(ROOT)
    faults, commands = [], 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = list(broken_links(page, text))
        if page.name != "CHANGELOG.md":  # Which tells of former ones.
            found += other_arithmetic(text)
        found += begun_twice(text)
        for name, line in command_lines(text):
            if hinted(line):
                continue
            commands += 1
            found += [f"`{name} {' '.join(line)}`: {fault}" for fault in program.wrong(name, line)]
        faults += [f"{page.relative_to(ROOT)}: {fault}" for fault in found]
    listed = ROOT / "docs" / "commands.md"
    text = listed.read_text(encoding="utf-8") if listed.exists() else ""
    faults += [f"docs/commands.md does not name cambrian {name}" for name in program.options if f"cambrian {name}" not in text]
    if commands < 50:
        faults.append(f"only {commands} command lines were found in {len(pages)} pages")
    print("\n".join(faults) if faults else f"{len(pages)} pages, {commands} command lines: all lead somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
