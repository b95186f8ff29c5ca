"""generations.csv, individuals.cmb and best.cmb do not depend on ranks, shard sizes, exchange or threads."""
import harness

# The first few touch everything once.
CASES = [(4, 1, "genomes", 1), (2, 0, "births", 2), (1, 64, "genomes", 2), (3, 64, "births", 1), (1, 1, "births", 2),
         (2, 1, "births", 1), (2, 64, "genomes", 1), (3, 0, "genomes", 1), (3, 1, "births", 1), (4, 0, "births", 1)]
TASKS = {"xor": {"type": "xor"},
         "cart_pole": {"type": "cart_pole", "episodes": 2, "steps": 60, "validation": {"every": 2, "episodes": 4}}}

chosen = harness.options(__doc__, cases=len(CASES), tasks=",".join(TASKS))
for name in chosen.tasks.split(","):
    task = TASKS[name]
    experiment = harness.config(chosen, name, 7, 30, task)
    alone = chosen.work / f"{name}-alone"
    harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
    expected = harness.results(alone)
    for ranks, shard, exchange, threads in CASES[:chosen.cases]:
        directory = chosen.work / f"{name}-{ranks}-{shard}-{exchange}-{threads}"
        harness.run(chosen, ranks, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                    "--set", f"distributed.shard_size={shard or chr(34) + 'auto' + chr(34)}",
                                    "--set", f"distributed.exchange={exchange}", "--set", f"engine.threads={threads}"])
        harness.same(expected, directory, f"{name}: {ranks} ranks, shards of {shard or 'auto'}, {exchange}, {threads} threads")
    # More ranks than individuals is legal.
    few = harness.config(chosen, f"{name}-few", 3, 2, task)
    by_ranks = {ranks: chosen.work / f"{name}-few-{ranks}" for ranks in (1, 4)}
    for ranks, directory in by_ranks.items():
        harness.run(chosen, ranks, ["evolve", few, "--quiet", "--set", f"run.directory={directory}"])
    harness.same(harness.results(by_ranks[1]), by_ranks[4], f"{name}: 4 ranks, 2 individuals")
# Records, and orders with children, of more than MPI sends at once: none may be overtaken by the next. What is sent does
# not depend on the backend, nor on how it is varied.
if chosen.backend == "cpu" and chosen.genome == "volumetric":
    large = harness.config(chosen, "large", 6, 3000, TASKS["xor"])
    alone = chosen.work / "large-alone"
    harness.run(chosen, 1, ["evolve", large, "--quiet", "--set", f"run.directory={alone}"])
    for exchange in ("births", "genomes"):
        directory = chosen.work / f"large-{exchange}"
        text = harness.run(chosen, 3, ["evolve", large, "--quiet", "--set", f"run.directory={directory}",
                                       "--set", f"distributed.exchange={exchange}", "--set", "distributed.shard_size=50"])
        harness.same(harness.results(alone), directory, f"population 3,000, {exchange}")
        if "silent" in text:
            harness.fail(f"population 3,000, {exchange}: an order was lost\n{text}")
print(f"{len(chosen.tasks.split(',')) * min(chosen.cases, len(CASES))} runs gave the same bytes")
