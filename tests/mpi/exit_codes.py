"""Errors end a job on every rank with the documented exit code, once on the console."""
import os
import signal
import time

import harness

chosen = harness.options(__doc__)
experiment = harness.config(chosen, "errors", 2000, 40, {"type": "cart_pole", "episodes": 3, "steps": 200})

text = harness.run(chosen, 3, ["evolve", experiment, "--set", "population.sise=3"], expect=2)
if text.count("population.size") != 1:
    harness.fail(f"an unknown key must be reported once, with the nearest one:\n{text}")
harness.run(chosen, 2, ["evolve", chosen.work / "absent.json"], expect=3)

# Also from a rank 0 on another host, which does not see the file that launch/mpi reads.
elsewhere = chosen.work / "elsewhere"
elsewhere.write_text(f"#!/bin/sh\nCAMBRIAN_STATUS_FILE=/nonexistent/status exec {chosen.program} \"$@\"\n")
elsewhere.chmod(0o755)
remote = harness.argparse.Namespace(launcher=chosen.launcher, program=str(elsewhere))
for generations, code in ((3, 0), (-1, 2)):
    text = harness.run(remote, 2, ["evolve", experiment, "--quiet", "--set", f"run.directory={chosen.work / 'remote'}",
                                   "--set", f"run.stop.generations={generations}"], expect=code)
    if "cambrian status" in text:
        harness.fail(f"what rank 0 tells launch/mpi is not for the console:\n{text}")

# Under recovery mpirun itself would wait for ever.
missing = harness.argparse.Namespace(launcher=chosen.launcher, program="no-such-program")
text = harness.run(missing, 2, ["evolve", experiment], expect=2)
if "no program to start was found" not in text:
    harness.fail(f"a missing program must be named:\n{text}")

# An interrupt ends a run at once, with a checkpoint and exit code 5; the rest can follow later. A terminal or
# a launcher may tell it several times at once.
for number, signals in enumerate([[signal.SIGINT], [signal.SIGHUP], [signal.SIGTERM, signal.SIGHUP, signal.SIGTERM]]):
    directory = chosen.work / f"interrupted-{number}"
    job = harness.start(chosen, 2, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}"])
    log = directory / "generations.csv"
    harness.wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, 60, "generations of the run")
    for one in signals:
        os.kill(job.pid, one)
        time.sleep(0.01)
    try:
        text, _ = job.communicate(timeout=30)
    except harness.subprocess.TimeoutExpired:
        harness.kill_group(job)
        harness.fail(f"a job interrupted by {signals} did not end within 30 s")
    if job.returncode != 5 or not (directory / "checkpoint.cmb").exists():
        harness.fail(f"a job interrupted by {signals} must end with 5 and a checkpoint (exit code {job.returncode})\n{text}")
    harness.run(chosen, 1, ["resume", directory, "--quiet", "--set", "run.stop.generations=5"])
# Also when it comes while the ranks and MPI start.
for delay in (0.05, 0.15, 0.3, 0.5):
    directory = chosen.work / f"early-{delay}"
    job = harness.start(chosen, 2, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}"])
    time.sleep(delay)
    os.kill(job.pid, signal.SIGTERM)
    try:
        text, _ = job.communicate(timeout=30)
    except harness.subprocess.TimeoutExpired:
        harness.kill_group(job)
        harness.fail(f"a job interrupted after {delay} s did not end within 30 s")
    begun = directory.exists()
    if job.returncode != 5 and (begun or job.returncode != -signal.SIGTERM):
        harness.fail(f"a job interrupted after {delay} s must end with 5 (exit code {job.returncode})\n{text}")

print("exit codes 2, 3 and 5 reach the caller")
