#!/usr/bin/env python3
"""Runs the tutorials, and the page on Python, as they stand.

Usage: tutorials.py PROGRAM [FILE.md ...]; without files docs/python.md and all of docs/tutorials.

The blocks ```sh of a page run one after another in an empty folder, with PROGRAM as `cambrian` and what lies beside it on the path,
and none may fail. CAMBRIAN_HOME is share/cambrian of an installed program, else the tree. A block ```text is what the commands before
it print: each of its lines stands in their output, in this order, with any number of blanks between words; ".." in a line stands
for anything, a line ".." for any lines.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 300


def words(line):
    return " ".join(line.split())


def missing_line(expected, output):
    """The first line of a block that the output does not have after those before it."""
    lines = [words(line) for line in output.splitlines()]
    place = 0
    for line in (words(line) for line in expected.splitlines()):
        if line in ("", ".."):
            continue
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in line.split("..")))
        while place < len(lines):
            place += 1
            if pattern.fullmatch(lines[place - 1]):
                break
        else:
            return line
    return None


def run_block(body, work, environment):
    """Exit code and output of commands; no code where they took too long, and all that they started was ended."""
    job = subprocess.Popen(["bash", "-euo", "pipefail", "-c", body], cwd=work, env=environment, text=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = job.communicate(timeout=SECONDS)
        return job.returncode, output
    except subprocess.TimeoutExpired:
        # Of the session, not of the group: launch/mpi gives mpirun a group of its own.
        subprocess.run(["pkill", "-KILL", "--session", str(job.pid)], check=False)
        return None, job.communicate()[0]


def run_page(page, program):
    """What is wrong with a page, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder, "tools")
        work = pathlib.Path(folder, "work")
        tools.mkdir()
        work.mkdir()
        for name in ("cambrian", "cambrian_scaling"):
            (tools / name).symlink_to(program.with_name(name))
        share = program.parents[1] / "share" / "cambrian"
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", NO_COLOR="1",
                           CAMBRIAN_HOME=str(share if share.is_dir() else ROOT))
        output = ""
        commands = 0
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            language, body = block.groups()
            line = text.count("\n", 0, block.start()) + 1
            if language == "sh":
                code, output = run_block(body, work, environment)
                commands += 1
                if code != 0:
                    return f"{page.name}:{line}: {f'exit code {code}' if code else f'more than {SECONDS} s'}\n{output}"
            elif language == "text":
                lost = missing_line(body, output)
                if lost is not None:
                    return f"{page.name}:{line}: no line \"{lost}\" in\n{output}"
        if commands == 0:
            return f"{page.name}: no block ```sh"
    return None


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    pages = [pathlib.Path(name) for name in sys.argv[2:]] or [
        ROOT / "docs" / "python.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    failures = [fault for fault in (run_page(page, program) for page in pages) if fault]
    print("\n".join(failures) if failures else f"{len(pages)} pages run as they stand")
    return 1 if failures or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
