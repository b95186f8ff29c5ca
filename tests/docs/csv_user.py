#!/usr/bin/env python3
"""The path of a user with a table, from an installation to answers: new, evolve, train, infer.

Usage: csv_user.py STAGE WORK. Rows that were in no file are answered at least as well as by the best baseline: the commonest
class, what the run prints of its own, and the class with the nearest mean, computed here.
"""
import csv
import pathlib
import random
import re
import shutil
import subprocess
import sys

STAGE, WORK = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
COLUMNS = ("load", "heat", "age")


def cambrian(*arguments):
    done = subprocess.run([STAGE / "bin" / "cambrian", *arguments], cwd=WORK, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cambrian {' '.join(arguments)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def machine(draw, number):
    """A row: broken where it is hot under little load or cold under much, which no line between classes tells."""
    load, heat, age = draw.uniform(0, 100), draw.uniform(20, 90), draw.uniform(0, 12)
    strain = (load - 50) / 50 * (heat - 55) / 35
    state = "broken" if strain < -0.12 else "check" if strain < 0.12 else "good"
    return [number, f"{load:.1f}", f"{heat:.1f}" if draw.random() > 0.03 else "NA", f"{age:.1f}", state]


def write(name, rows):
    with open(WORK / name, "w", encoding="utf-8") as file:
        file.write("number;load;heat;age;state\n")
        file.writelines(";".join(map(str, row)).replace(".", ",") + "\n" for row in rows)


def numbers(row):
    return [float(cell) for cell in row[1:4]]


def nearest_mean(train, rows):
    """The share of rows that are nearest to the mean of their class, in deviations of each column."""
    whole = [row for row in train if "NA" not in row]
    columns = list(zip(*map(numbers, whole)))
    mean = [sum(c) / len(c) for c in columns]
    deviation = [(sum((x - m) ** 2 for x in c) / len(c)) ** 0.5 for c, m in zip(columns, mean)]
    scaled = lambda row: [(x - m) / d for x, m, d in zip(numbers(row), mean, deviation)]
    centres = {}
    for name in {row[4] for row in whole}:
        members = [scaled(row) for row in whole if row[4] == name]
        centres[name] = [sum(c) / len(c) for c in zip(*members)]
    filled = [[mean[i - 1] if cell == "NA" else cell for i, cell in enumerate(row)] for row in rows]
    far = lambda row, name: sum((a - b) ** 2 for a, b in zip(scaled(row), centres[name]))
    return sum(min(centres, key=lambda name: far(row, name)) == row[4] for row in filled) / len(rows)


shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
draw = random.Random(7)
train, later = [machine(draw, i) for i in range(400)], [machine(draw, i) for i in range(200)]
write("machines.csv", train)
write("later.csv", later)

cambrian("new", "--csv", "machines.csv", "--target", "state")
STRICT = ("--set", "engine.math=strict")  # The same accuracy on any machine.
said = cambrian("evolve", "machines.json", *STRICT)
cambrian("train", "machines.json", "--set", f"network.initial={WORK}/runs/machines-1/best.cmb", "--set", "run.directory=runs/trained", *STRICT)
cambrian("infer", "runs/trained/best.cmb", "--input", "later.csv", "-o", "answers.csv")
with open(WORK / "answers.csv", encoding="utf-8") as file:
    answers = [row["class"] for row in csv.DictReader(file)]
if len(answers) != len(later):
    sys.exit(f"{len(answers)} answers to {len(later)} rows")
accuracy = sum(answer == row[4] for answer, row in zip(answers, later)) / len(later)

told = [float(value) for line in re.findall(r"majority \(accuracy\)(.*)", said) for value in re.findall(r"[\d.]+", line)]
if not told:
    sys.exit(f"the run tells of no baseline\n{said}")
classes = [row[4] for row in later]
baselines = {"the run's majority": max(told), "majority": max(classes.count(name) for name in classes) / len(later),
             "nearest mean": nearest_mean(train, later)}
best = max(baselines.values())
print(f"accuracy {accuracy:.3f} on {len(later)} rows of another file; baselines {baselines}")
if accuracy < best:
    sys.exit("a baseline is better")
