"""A worker killed with SIGKILL at a random moment neither stops the run nor changes a byte of it."""
import os
import random
import signal
import time

import harness

chosen = harness.options(__doc__, kills=20, seed=2, generations=150)
experiment, expected, duration = harness.unbroken_cart_pole(chosen, "orphaned", chosen.generations)
draw = random.Random(chosen.seed)
kills, attempt = 0, 0
for attempt in harness.attempts(lambda: kills >= chosen.kills, 4 * chosen.kills,
                                "most runs ended before their worker could be killed"):
    ranks = draw.choice([2, 3, 4])
    directory = chosen.work / f"run-{attempt}"
    job = harness.start(chosen, ranks, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                        "--set", "distributed.lease_seconds=2"])
    harness.wait_until(lambda: (directory / "generations.csv").exists() or job.poll() is not None, 60, "start of the run")
    time.sleep(draw.uniform(0.0, 0.6) * duration)
    victims = [pid for rank, pid in harness.ranks_of(job, chosen.program).items() if rank != 0]
    if victims and job.poll() is None:
        os.kill(draw.choice(victims), signal.SIGKILL)
        kills += 1
    harness.finish(job, f"run {attempt}, a worker was killed")
    harness.same(expected, directory, f"run {attempt}, {ranks} ranks, one worker killed")
print(f"{kills} killed workers in {attempt} runs changed no byte")
