"""A rank killed between hearing of a round and passing it on: with more than 16 workers some hear of it from others."""
import json
import time

import harness

LEASE = 1.5
RANKS = 20

chosen = harness.options(__doc__, crash_points="", seed=1)
experiment = harness.config(chosen, "relay", 8, 60, {"type": "cart_pole", "episodes": 1, "steps": 30})
alone = chosen.work / "alone"
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
expected = harness.results(alone)


def run(crash):
    """Seconds of a job after its crash, and how many records each worker passed on."""
    directory, steps = chosen.work / f"run-{crash}", chosen.work / f"steps-{crash}"
    steps.mkdir()
    job = harness.start(chosen, RANKS, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                        "--set", f"distributed.lease_seconds={LEASE}", "--set", "engine.threads=1"],
                        LD_PRELOAD=chosen.crash_points, CAMBRIAN_CRASH_DIRECTORY=str(directory),
                        CAMBRIAN_CRASH_STEPS=str(steps), CAMBRIAN_CRASH_AT=crash, ASAN_OPTIONS="verify_asan_link_order=0")
    passed_on = lambda rank: [line for line in (steps / str(rank)).read_text().splitlines() if line.startswith("r")]
    if crash:
        victim, step = map(int, crash.split(":")[0].split("r"))
        harness.wait_until(lambda: job.poll() is not None or ((steps / str(victim)).exists() and len(passed_on(victim)) >= step),
                           60, f"a crash at {crash}")
    at = time.monotonic()
    harness.finish(job, f"{RANKS} ranks, {crash}", 60)
    after = time.monotonic() - at
    harness.same(expected, directory, f"{RANKS} ranks, {crash}")
    return after, {rank: len(passed_on(rank)) for rank in range(1, RANKS) if (steps / str(rank)).exists()}


def run_steadily():
    """In the steady state an order and the record before it come from two ranks, in any order: none is lost for it."""
    content = json.loads(experiment.read_text())
    content["task"], content["steady_state"] = {"type": "xor"}, {"window": 64}
    content["population"] = {"size": 64, "reevaluate": "never"}
    content["run"]["stop"] = {"generations": 4000}
    path = chosen.work / "steady.json"
    path.write_text(json.dumps(content))
    settings = ["--set", "engine.threads=1", "--set", f"distributed.lease_seconds={4 * LEASE}"]
    places = [chosen.work / "steady-alone", chosen.work / "steady-all"]
    texts = [harness.run(chosen, ranks, ["evolve", path, "--quiet", "--set", f"run.directory={place}", *settings])
             for ranks, place in zip((1, RANKS), places)]
    if "silent" in texts[1]:
        harness.fail(f"an order was lost\n{texts[1]}")
    harness.same(harness.results(places[0]), places[1], f"the steady state on {RANKS} ranks")


run_steadily()
_, relays = run("")
victims = [rank for rank, count in relays.items() if count > 1]
if not victims:
    harness.fail(f"no worker passed a record on: {relays}")
after, counts = run(f"{victims[0]}r2:9")
if counts[victims[0]] != 2:
    harness.fail(f"rank {victims[0]} was not killed before its second relay: {counts}")
if after > LEASE + chosen.late:
    harness.fail(f"the job ended {after:.1f} s after a relaying rank had died")
print(f"{len(victims)} of {RANKS} ranks passed records on; one that died meanwhile changed no byte, the job ended {after:.1f} s later")
