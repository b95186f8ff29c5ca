#!/usr/bin/env python3
"""The path of a user with a simulator in Python, from an installation to a network that acts: two ranks under mpirun.

Usage: simulator_user.py STAGE WORK. The client and the example are those of the installation. One rank gives the same bytes, and
the network balances the pole for as long as the definition of the task asks. The lines of README.md run as they stand.
"""
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys

STAGE, WORK = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARE = STAGE / "share" / "cambrian"
PROGRAM = str(STAGE / "bin" / "cambrian")
SOLVED = 475.0
STRICT = ("--set", "engine.math=strict")  # The same steps on any machine.


def call(*command):
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
for name in ("cambrian.py", "cart_pole.py"):
    shutil.copy(SHARE / "configs" / "python" / name, WORK)
(WORK / "mine.json").write_text(json.dumps({
    "extends": str(SHARE / "configs" / "python" / "cart_pole.json"),
    "run": {"name": "mine", "base_directory": str(WORK)},
    "population": {"size": 32}, "task": {"episodes": 2, "processes": 1, "validation": {"every": 2, "episodes": 10}}}),
    encoding="utf-8")
call(str(SHARE / "launch" / "mpi"), "-n", "2", PROGRAM, "evolve", "mine.json", "--require-solved", *STRICT, "--set", "run.directory=two")
call(PROGRAM, "evolve", "mine.json", "--require-solved", *STRICT, "--set", "run.directory=one")
for name in ("generations.csv", "individuals.cmb", "best.cmb"):
    if (WORK / "one" / name).read_bytes() != (WORK / "two" / name).read_bytes():
        sys.exit(f"{name} of two ranks differs from that of one")
told = json.loads(call(PROGRAM, "evaluate", "two/best.cmb", "--episodes", "20", "--json"))
fitness = told["networks"][0]["fitness"] if "networks" in told else told["fitness"]
print(f"two ranks and one: the same bytes; {fitness:g} steps on average over 20 unseen episodes")
if fitness < SOLVED:
    sys.exit(f"fewer than {SOLVED:g} steps")

# The simulator of the README, with the task that its last line names; the client is the copy that lies beside it.
lines = re.search(r"^```python\n(import cambrian\n.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
task = json.loads("{" + re.search(r'"task": \{.*\}', lines)[0] + "}")
(WORK / task["task"]["command"][-1]).write_text(lines, encoding="utf-8")
task["task"]["steps"] = 20  # An episode of it has no end of its own.
(WORK / "readme.json").write_text(json.dumps({
    **task, "run": {"name": "readme", "directory": "readme", "stop": {"generations": 2}}, "population": {"size": 8}}), encoding="utf-8")
call(PROGRAM, "evolve", "readme.json")
with open(WORK / "readme" / "generations.csv", encoding="utf-8") as file:
    best = [float(row["best"]) for row in csv.DictReader(file)]
if best != [20.0, 20.0]:  # Each of its steps is worth 1.
    sys.exit(f"the simulator of README.md: {best}")
print("the simulator of README.md ran for two generations")
