"""A rank killed while MPI starts: launch/mpi starts the job again, and it ends with the same bytes."""
import os
import signal
import time

import harness

chosen = harness.options(__doc__, start_seconds=6)
task = {"type": "cart_pole", "episodes": 2, "steps": 60}
experiment = harness.config(chosen, "starting", 6, 30, task)
alone = chosen.work / "alone"
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
expected = harness.results(alone)

LEASE = 1.5
CASES = [(0, 0.0), (1, 0.0), (2, 0.05), (1, 0.1), (0, 0.2), (2, 0.4)]
started_again, longest = 0, 0.0
for number, (victim, delay) in enumerate(CASES):
    directory = chosen.work / f"run-{number}"
    job = harness.start(chosen, 3, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                    "--set", f"distributed.start_seconds={chosen.start_seconds}",
                                    "--set", f"distributed.lease_seconds={LEASE}"])
    harness.wait_until(lambda: victim in harness.ranks_of(job, chosen.program) or job.poll() is not None, 30, "a rank to kill")
    time.sleep(delay)
    ranks = harness.ranks_of(job, chosen.program)
    killed = time.monotonic()
    if victim in ranks:
        os.kill(ranks[victim], signal.SIGKILL)
    try:
        text, _ = job.communicate(timeout=90)
    except harness.subprocess.TimeoutExpired:
        harness.kill_group(job)
        harness.fail(f"rank {victim} killed after {delay} s: no end within 90 s")
    again = "it is started again, 2 of 3" in text
    started_again += again
    passed = time.monotonic() - killed
    longest = max(longest, passed)
    if passed > LEASE + chosen.late:
        harness.fail(f"rank {victim} killed after {delay} s: the job ended {passed:.1f} s later\n{text}")
    if again and text.count("MPI did not start within") > 1:
        harness.fail(f"that MPI did not start must be said once:\n{text}")
    if delay == 0.0 and not again:
        harness.fail(f"rank {victim} killed at its birth: the job was not started again\n{text}")
    # A rank 0 that dies in the run ends it, and says so; that is another matter.
    if victim == 0 and not again and job.returncode == 1 and "run it again" in text:
        harness.run(chosen, 3, ["evolve", experiment, "--quiet", "--continue", "--set", f"run.directory={directory}"])
    elif job.returncode != 0:
        harness.fail(f"rank {victim} killed after {delay} s: exit code {job.returncode}\n{text}")
    harness.same(expected, directory, f"rank {victim} killed {delay} s after its birth")

# mpirun itself may hang when a rank dies so early.
directory = chosen.work / "hanging"
job = harness.start(chosen, 3, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                "--set", f"distributed.start_seconds={chosen.start_seconds}"])
harness.wait_until(lambda: len(harness.ranks_of(job, chosen.program)) == 3, 30, "all ranks")
ranks = harness.ranks_of(job, chosen.program)
os.kill(ranks[1], signal.SIGKILL)
parent = int(harness.Path(f"/proc/{ranks[0]}/stat").read_text().rsplit(")", 1)[1].split()[1])
os.kill(parent, signal.SIGSTOP)
try:
    text, _ = job.communicate(timeout=90)
except harness.subprocess.TimeoutExpired:
    harness.kill_group(job)
    harness.fail("an mpirun that hangs must be ended, and the job started again")
if job.returncode != 0 or "it is started again, 2 of 3" not in text:
    harness.fail(f"mpirun hung: exit code {job.returncode}\n{text}")
harness.same(expected, directory, "a run whose first mpirun hung")

# Where it never succeeds, it is said and ends; an interrupt ends it at once.
ranks_seen = set()
job = harness.start(chosen, 2, ["evolve", experiment, "--quiet", "--set", "distributed.start_seconds=1",
                                "--set", f"run.directory={chosen.work / 'never'}"])
end = time.monotonic() + 60
while job.poll() is None and time.monotonic() < end:
    for rank, pid in harness.ranks_of(job, chosen.program).items():
        if rank == 1 and pid not in ranks_seen:
            ranks_seen.add(pid)
            os.kill(pid, signal.SIGKILL)
    time.sleep(0.01)
if job.poll() is None:
    harness.kill_group(job)
    harness.fail("a job that never starts did not end within 60 s")
text = job.stdout.read()
if job.returncode != 1 or len(ranks_seen) != 3 or "its ranks did not come together, 3 times" not in text:
    harness.fail(f"a job that never starts must be tried 3 times and end with 1 ({job.returncode}, {len(ranks_seen)} tries)\n{text}")
print(f"{len(CASES)} ranks killed at the start changed no byte; {started_again} jobs were started again, all ended within {longest:.1f} s of the death")
