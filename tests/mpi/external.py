"""Programs in Python on 1, 2 and 4 ranks, which step worlds or judge networks, in JSON and in MessagePack: the same bytes, one
program that breaks, and none left when a rank is killed."""
import os
import signal
import sys
import time
from pathlib import Path
import harness

chosen = harness.options(__doc__)
CLIENT = Path(__file__).resolve().parents[2] / "configs" / "python"
SIMULATOR = chosen.work / "simulator.py"
SIMULATOR.write_text(f"""
import os, sys, time
sys.path.insert(0, {str(CLIENT)!r})
import cart_pole, cambrian

def breaks(output):
    if output > float(os.environ.get("BREAKS_ABOVE", "inf")):
        os._exit(1)

class Fragile(cart_pole.CartPole):
    def step(self, outputs):
        breaks(outputs[0])
        return super().step(outputs)

def judge(network):
    time.sleep(float(os.environ.get("SECONDS", "0")))
    bias = network.tensors["head.bias"]
    breaks(bias[0])
    return sum(bias) + len(network.tensors) + network.individual * 1e-3 + network.seeds[0] % 100

if len(sys.argv) > 1:
    cambrian.serve_networks(judge, 4, 2)
else:
    cambrian.serve(Fragile)
""")
TASK = {"type": "external", "command": [sys.executable, str(SIMULATOR)], "episodes": 2, "steps": 40, "processes": 2,
        "validation": {"every": 3, "episodes": 4}}
NETWORKS = {"type": "external", "command": [*TASK["command"], "networks"], "level": "network", "processes": 2, "batch": 3,
            "validation": {"every": 3, "episodes": 4}}


def evolve(name, ranks, experiment, **environment):
    directory = chosen.work / name
    text = harness.run(chosen, ranks, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}"],
                       **environment)
    return directory, text


def simulators():
    """Processes that run the simulator of this test."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(SIMULATOR).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


experiment = harness.config(chosen, "external", 4, 16, TASK)
alone, _ = evolve("alone", 1, experiment)
expected = harness.results(alone)
for ranks in (2, 4):
    directory, _ = evolve(f"ranks-{ranks}", ranks, experiment)
    harness.same(expected, directory, f"{ranks} ranks")

# Networks in a program's own hands: how many at once, and in which frames, changes nothing.
judged = harness.config(chosen, "judged", 6, 16, NETWORKS)
alone, _ = evolve("judged-1", 1, judged)
expected_judged = harness.results(alone)
packed = harness.config(chosen, "judged-packed", 6, 16, {**NETWORKS, "frames": "msgpack", "batch": 100, "processes": 1})
for ranks in (2, 4):
    directory, _ = evolve(f"judged-{ranks}", ranks, judged)
    harness.same(expected_judged, directory, f"{ranks} ranks that judge networks")
directory, _ = evolve("judged-packed", 2, packed)
if (directory / "generations.csv").read_bytes() != expected_judged["generations.csv"]:
    harness.fail("networks have another fitness in MessagePack")

# Networks with which the program breaks are told of and get the worst fitness; which they are depends on nothing else.
for name, broken_one, limit in (("broken", experiment, "0.9"), ("broken-judge", judged, "0.2")):
    broken, text = evolve(f"{name}-1", 1, broken_one, BREAKS_ABOVE=limit)
    if "a network gets the worst fitness" not in text:
        harness.fail(f"nobody was told that the program broke\n{text}")
    directory, _ = evolve(f"{name}-2", 2, broken_one, BREAKS_ABOVE=limit)
    harness.same(harness.results(broken), directory, "2 ranks with a program that breaks")

# A rank that is killed takes its programs with it, and the run goes on.
for name, task in (("killed", TASK), ("killed-judge", NETWORKS)):
    long = harness.config(chosen, "long", 25, 16, task)
    directory = chosen.work / name
    job = harness.start(chosen, 2, ["evolve", long, "--quiet", "--set", f"run.directory={directory}",
                                    "--set", "distributed.lease_seconds=2"], SECONDS="0.005")
    limit = time.monotonic() + 60
    while len(ranks := harness.ranks_of(job, chosen.program)) < 2 or len(simulators()) < 3:
        if time.monotonic() > limit or job.poll() is not None:
            harness.fail("the job did not begin")
        time.sleep(0.02)
    os.kill(ranks[1], signal.SIGKILL)
    harness.finish(job, "a run whose worker was killed")
    limit = time.monotonic() + 5
    while simulators():
        if time.monotonic() > limit:
            harness.fail(f"programs {simulators()} outlived their ranks")
        time.sleep(0.05)
    alone, _ = evolve(f"{name}-not", 1, long)
    harness.same(harness.results(alone), directory, "a run whose worker was killed")
print("1, 2 and 4 ranks gave the same bytes, whatever broke")
