"""A job returns soon after its run has ended, also where a worker is stopped; a lost rank 0 ends it after a lease."""
import os
import signal
import time

import harness

chosen = harness.options(__doc__)
experiment, expected, duration = harness.unbroken_cart_pole(chosen, "stopped")
lease = 1.5
longest = lease + chosen.late


def begun(ranks, directory, *more):
    """A job on some ranks, once its run has some generations behind it."""
    job = harness.start(chosen, ranks, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                        "--set", f"distributed.lease_seconds={lease}", *more])
    log = directory / "generations.csv"
    harness.wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, 60, "generations of the run")
    return job


def end_of(job, seconds, what):
    try:
        return job.communicate(timeout=seconds)[0]
    except harness.subprocess.TimeoutExpired:
        harness.kill_group(job)
        harness.fail(f"{what}: the job did not return within {seconds} s")


# A stopped worker: its shards go to others, and nobody waits for it at the end.
directory = chosen.work / "worker"
job = begun(3, directory)
os.kill(harness.ranks_of(job, chosen.program)[2], signal.SIGSTOP)
harness.wait_until(lambda: harness.state_of(directory) == "done", 60 + 10 * duration, "the end of the run")
ended = time.monotonic()
text = end_of(job, 30, "a worker was stopped")
waited = time.monotonic() - ended
if job.returncode != 0 or waited > longest:
    harness.fail(f"the job returned {waited:.1f} s after its run had ended, with {job.returncode}\n{text}")
harness.same(expected, directory, "a run with a stopped worker")
left = harness.processes_below(job.pid)
if left or "after the run has ended" not in text:
    harness.fail(f"the stopped worker must be ended, and that be said ({left} are left)\n{text}")

# One that is killed is not waited for at all.
directory = chosen.work / "dead"
job = begun(3, directory)
os.kill(harness.ranks_of(job, chosen.program)[2], signal.SIGKILL)
harness.wait_until(lambda: harness.state_of(directory) == "done", 60 + 10 * duration, "the end of the run")
ended = time.monotonic()
text = end_of(job, 30, "a worker was killed")
after_death = time.monotonic() - ended
if job.returncode != 0 or after_death > longest:
    harness.fail(f"the job returned {after_death:.1f} s after its run had ended, with {job.returncode}\n{text}")
harness.same(expected, directory, "a run with a dead worker")

# One signal ends a job whose run has ended, before the time is over.
directory = chosen.work / "asked"
job = begun(2, directory)
os.kill(harness.ranks_of(job, chosen.program)[1], signal.SIGSTOP)
harness.wait_until(lambda: harness.state_of(directory) == "done", 60 + 10 * duration, "the end of the run")
ended = time.monotonic()
time.sleep(0.5)
os.kill(job.pid, signal.SIGTERM)
text = end_of(job, chosen.late, "a signal to a job whose run has ended")
if job.returncode != 0:
    harness.fail(f"a job whose run has ended must return its exit code, not {job.returncode}\n{text}")

# Without rank 0 the workers leave after a lease where nobody is to take over, and say why.
directory = chosen.work / "coordinator"
job = begun(3, directory, "--set", "run.stop.generations=100000", "--set", "distributed.takeover=never")
os.kill(harness.ranks_of(job, chosen.program)[0], signal.SIGKILL)
killed = time.monotonic()
text = end_of(job, 60, "rank 0 was killed")
orphaned = time.monotonic() - killed
if job.returncode != 1 or orphaned > longest:
    harness.fail(f"the job returned {orphaned:.1f} s after rank 0 was killed, with {job.returncode}\n{text}")
if text.count("the coordinator has been silent for a lease") != 2 or "distributed.lease_seconds is 1.5" not in text:
    harness.fail(f"the first and the last worker must say why they leave\n{text}")
for rank in (1, 2):
    if "silent for a lease" not in (directory / "logs" / f"rank-{rank}.log").read_text():
        harness.fail(f"the log of rank {rank} must say why it left")

# A rank 0 that stays stopped is killed where that is wanted, and another rank goes on.
directory = chosen.work / "killed"
job = begun(3, directory, "--set", "distributed.kill_stopped=true")
os.kill(harness.ranks_of(job, chosen.program)[0], signal.SIGSTOP)
harness.finish(job, "rank 0 was stopped for good", 60)
harness.same(expected, directory, "a run whose rank 0 was stopped for good")
logs = "".join(path.read_text() for path in (directory / "logs").iterdir())
if logs.count("rank 0 was silent and stopped") != 1:
    harness.fail(f"the successor must say whom it killed\n{logs}")

# A rank 0 that is stopped for less than three quarters of a lease loses nobody.
directory = chosen.work / "suspended"
job = begun(3, directory)
coordinator = harness.ranks_of(job, chosen.program)[0]
os.kill(coordinator, signal.SIGSTOP)
time.sleep(0.5 * lease)
os.kill(coordinator, signal.SIGCONT)
text = end_of(job, 120, "rank 0 was suspended")
logs = "".join(path.read_text() for path in (directory / "logs").iterdir())
if job.returncode != 0 or logs.count("stop: the run has ended") != 2:
    harness.fail(f"workers must stay while rank 0 is suspended for half a lease\n{text}\n{logs}")
harness.same(expected, directory, "a run whose rank 0 was suspended")
print(f"returned {waited:.1f} s after the end of a run with a stopped worker, {after_death:.1f} s with a dead one, {orphaned:.1f} s after the death of rank 0")
