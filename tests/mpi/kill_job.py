"""A job killed as a whole at random moments and resumed on other rank counts ends with the same bytes."""
import random
import time

import harness

chosen = harness.options(__doc__, kills=20, seed=1)
task = {"type": "cart_pole", "episodes": 3, "steps": 200, "validation": {"every": 4, "episodes": 8}}
experiment = harness.config(chosen.work, "killed", 40, 60, task)
alone = chosen.work / "alone"
begin = time.monotonic()
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
duration = time.monotonic() - begin
expected = harness.results(alone)

draw = random.Random(chosen.seed)
kills, runs = 0, 0
while kills < chosen.kills:
    directory = chosen.work / f"run-{runs}"
    runs += 1
    for _ in range(6):
        ranks = draw.choice([1, 2, 3, 4])
        job = harness.start(chosen, ranks, ["evolve", experiment, "--quiet", "--continue", "--set", f"run.directory={directory}"])
        try:
            job.communicate(timeout=draw.uniform(0.05, 1.0) * duration + 0.3)
            break
        except harness.subprocess.TimeoutExpired:
            harness.kill_group(job)
            kills += 1
    ranks = draw.choice([1, 2, 3, 4])
    harness.run(chosen, ranks, ["evolve", experiment, "--quiet", "--continue", "--set", f"run.directory={directory}"])
    harness.same(expected, directory, f"run {runs} after {kills} kills in all")
print(f"{kills} kills over {runs} runs changed no byte")
