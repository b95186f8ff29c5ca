#!/usr/bin/env python3
"""Runs one experiment over many seeds and prints what each reached, the count solved and the medians.

tests/bench/seeds.py build/release/cambrian configs/xor.json --seeds 20 [--set key=value ...]"""
import argparse
import csv
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("config")
parser.add_argument("--seeds", type=int, default=20)
parser.add_argument("--first", type=int, default=1)
parser.add_argument("--set", action="append", default=[], dest="settings")
chosen = parser.parse_args()

rows = []
with tempfile.TemporaryDirectory() as work:
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        directory = Path(work) / str(seed)
        settings = [f"run.seed={seed}", f"run.directory={directory}", *chosen.settings]
        begin = time.monotonic()
        job = subprocess.run([chosen.program, "evolve", chosen.config, "--quiet", *[part for s in settings for part in ("--set", s)]],
                             capture_output=True, text=True)
        seconds = time.monotonic() - begin
        if job.returncode != 0:
            raise SystemExit(f"seed {seed}: exit code {job.returncode}\n{job.stdout}{job.stderr}")
        log = list(csv.DictReader((directory / "generations.csv").open()))
        status = json.loads((directory / "status.json").read_text())
        row = {"seed": seed, "reason": status["reason"], "generations": len(log), "evaluations": int(log[-1]["evaluations"]),
               "best": max(float(line["best"]) for line in log), "validated": status.get("validated"),
               "tested": status.get("tested"), "seconds": seconds}
        rows.append(row)
        print("  ".join(f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()), flush=True)

solved = sum(row["reason"] == "fitness" for row in rows)
print(f"solved {solved} of {len(rows)}")
for key in ("generations", "evaluations", "best", "validated", "tested", "seconds"):
    values = [row[key] for row in rows if row[key] is not None]
    if values:
        print(f"median {key} {statistics.median(values):.6g}, least {min(values):.6g}, most {max(values):.6g}")
