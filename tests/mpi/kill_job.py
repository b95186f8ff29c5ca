"""A job killed as a whole at random moments and resumed on other rank counts ends with the same bytes."""
import random
import time

import harness

chosen = harness.options(__doc__, kills=20, seed=1, generations=150)
experiment, expected, duration = harness.unbroken_cart_pole(chosen, "killed", chosen.generations)
draw = random.Random(chosen.seed)
# Ranks take longer to start than such a run takes.
begin = time.monotonic()
harness.run(chosen, 4, ["evolve", experiment, "--quiet", "--set", f"run.directory={chosen.work / 'start'}",
                        "--set", "run.stop.generations=1"])
start = time.monotonic() - begin
kills, runs, resumed = 0, 0, 0
# As often again where most kills came before the first checkpoint.
while kills < chosen.kills or 4 * resumed < kills < 4 * chosen.kills:
    directory = chosen.work / f"run-{runs}"
    runs += 1
    for _ in range(6):
        ranks = draw.choice([1, 2, 3, 4])
        job = harness.start(chosen, ranks, ["evolve", experiment, "--quiet", "--continue", "--set", f"run.directory={directory}"])
        try:
            job.communicate(timeout=draw.uniform(0.05, 1.0) * duration + draw.uniform(0.5, 1.0) * start)
            break
        except harness.subprocess.TimeoutExpired:
            harness.kill_group(job)
            kills += 1
            resumed += (directory / "checkpoint.cmb").exists()
    ranks = draw.choice([1, 2, 3, 4])
    harness.run(chosen, ranks, ["evolve", experiment, "--quiet", "--continue", "--set", f"run.directory={directory}"])
    harness.same(expected, directory, f"run {runs} after {kills} kills in all")
if 4 * resumed < kills:
    harness.fail(f"only {resumed} of {kills} kills left a checkpoint to resume from")
print(f"{kills} kills over {runs} runs changed no byte; {resumed} left a checkpoint to resume from")
