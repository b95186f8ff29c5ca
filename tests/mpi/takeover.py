"""Ranks killed with SIGKILL at random moments, rank 0 among them: the run goes on while one is left, with the same bytes."""
import os
import random
import signal
import time

import harness

LEASE = 1.5

chosen = harness.options(__doc__, kills=20, seed=3, generations=150)
experiment, expected, duration = harness.unbroken_cart_pole(chosen, "takeover", chosen.generations)
draw = random.Random(chosen.seed)
kills, of_coordinators, attempt, longest = 0, 0, 0, 0.0
for attempt in harness.attempts(lambda: kills >= chosen.kills and of_coordinators > 0, 4 * chosen.kills + 4,
                                "most runs ended before a rank could be killed"):
    ranks = draw.choice([2, 3, 4])
    directory = chosen.work / f"run-{attempt}"
    job = harness.start(chosen, ranks, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                        "--set", f"distributed.lease_seconds={LEASE}"])
    log, ended = directory / "generations.csv", False
    harness.wait_until(lambda: (log.exists() and log.read_text().count("\n") > 1) or job.poll() is not None, 60,
                       "the first generation")
    # Rank 0 first, or any; one rank at least stays.
    for kill in range(draw.randint(1, ranks - 1)):
        time.sleep(draw.uniform(0.0, 0.3) * duration + (1.2 * LEASE if kill > 0 else 0.0))
        alive = harness.ranks_of(job, chosen.program)
        if len(alive) < 2 or job.poll() is not None:
            break
        victim = 0 if 0 in alive and draw.random() < 0.6 else draw.choice(sorted(alive))
        os.kill(alive[victim], signal.SIGKILL)
        state = harness.state_of(directory)
        kills += state == "running"
        of_coordinators += state == "running" and victim == 0
        ended = ended or victim == 0 and state == "done"
        # What is promised of any death: the run goes on within a lease and two seconds.
        lines, killed = log.read_text().count("\n"), time.monotonic()
        harness.wait_until(lambda: log.read_text().count("\n") > lines + 1 or harness.state_of(directory) == "done",
                           LEASE + chosen.late, f"a generation after the death of rank {victim} of {ranks}")
        longest = max(longest, time.monotonic() - killed)
    if harness.finish_killed(job, f"run {attempt}, ranks were killed", ended):
        harness.run(chosen, 2, ["evolve", experiment, "--quiet", "--continue", "--set", f"run.directory={directory}"])
    harness.same(expected, directory, f"run {attempt}, {ranks} ranks")
print(f"{kills} killed ranks, {of_coordinators} of them rank 0, in {attempt} runs changed no byte; "
      f"the longest pause was {longest:.1f} s with a lease of {LEASE} s")
