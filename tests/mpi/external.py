"""A simulator in Python on 1, 2 and 4 ranks: the same bytes, one simulator that breaks, and none left when a rank is killed."""
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
import os, sys
sys.path.insert(0, {str(CLIENT)!r})
import cart_pole, cambrian

class Fragile(cart_pole.CartPole):
    def step(self, outputs):
        if outputs[0] > float(os.environ.get("BREAKS_ABOVE", "inf")):
            os._exit(1)
        return super().step(outputs)

cambrian.serve(Fragile)
""")
TASK = {"type": "external", "command": [sys.executable, str(SIMULATOR)], "episodes": 2, "steps": 40, "processes": 2,
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

# Networks with which the simulator breaks are told of and get the worst fitness; which they are depends on nothing else.
broken, text = evolve("broken-1", 1, experiment, BREAKS_ABOVE="0.9")
if "a network gets the worst fitness" not in text:
    harness.fail(f"nobody was told that the simulator broke\n{text}")
directory, _ = evolve("broken-2", 2, experiment, BREAKS_ABOVE="0.9")
harness.same(harness.results(broken), directory, "2 ranks with a simulator that breaks")

# A rank that is killed takes its simulators with it, and the run goes on.
long = harness.config(chosen, "long", 40, 16, TASK)
directory = chosen.work / "killed"
job = harness.start(chosen, 2, ["evolve", long, "--quiet", "--set", f"run.directory={directory}",
                                "--set", "distributed.lease_seconds=2"])
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
        harness.fail(f"simulators {simulators()} outlived their ranks")
    time.sleep(0.05)
alone, _ = evolve("undisturbed", 1, long)
harness.same(harness.results(alone), directory, "a run whose worker was killed")
print("1, 2 and 4 ranks gave the same bytes, whatever broke")
