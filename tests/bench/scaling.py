#!/usr/bin/env python3
"""Real runs of cambrian_scaling on this host beside simulated ones, a line for each number of ranks.

tests/bench/scaling.py build/release/cambrian_scaling --ranks 2,8,32 [--processors 2] [--cost 5ms --per-rank 32]

Evaluations sleep, so real ranks evaluate side by side however few processors there are; all else they do on the processors
of this host, which simulated ranks share as well (--processors)."""
import argparse
import os
import subprocess
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--ranks", default="2,4,8,16,32")
parser.add_argument("--processors", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--tries", type=int, default=3, help="real runs of each; the fastest counts")
chosen, options = parser.parse_known_args()  # What is not known here is of cambrian_scaling, for both.
environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(command):
    job = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    if job.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {job.returncode}\n{job.stdout}{job.stderr}")
    return job.stdout.splitlines()[-1]


def columns(line):
    fields = line.split()
    return {"ms": float(fields[1]), "efficiency": float(fields[3])}


def real(ranks):
    with tempfile.TemporaryDirectory() as work:
        lines = [run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), chosen.program, *options,
                      "--directory", str(Path(work) / str(attempt))]) for attempt in range(chosen.tries)]
    return min((columns(line) for line in lines), key=lambda found: found["ms"])


measured = run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", chosen.program, "--calibrate"])
print(f"messages of this host: {measured}; {chosen.processors} processors", flush=True)
print(f"{'ranks':>6} {'real':>12} {'simulated':>12} {'real':>11} {'simulated':>10}")
for ranks in map(int, chosen.ranks.split(",")):
    found = real(ranks)
    simulated = columns(run([chosen.program, *options, *measured.split(), "--ranks", str(ranks),
                             "--processors", str(chosen.processors)]))
    print(f"{ranks:>6} {found['ms']:>9.2f} ms {simulated['ms']:>9.2f} ms {found['efficiency']:>11.3f} "
          f"{simulated['efficiency']:>10.3f}", flush=True)
