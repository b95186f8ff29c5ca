"""File systems without locks, or with locks of each host's own: said, and no rank takes a run over that it may have to share."""
import os
import signal
import time

import harness

LEASE = 1.0

chosen = harness.options(__doc__, faulty="")
task = {"type": "cart_pole", "episodes": 3, "steps": 200}
experiment = harness.config(chosen, "locks", 1000, 60, task)
alone = chosen.work / "alone"
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
expected = harness.results(alone)
directory = chosen.work / "run"
arguments = ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}", "--set", f"distributed.lease_seconds={LEASE}"]

fault = {"LD_PRELOAD": chosen.faulty, "ASAN_OPTIONS": "verify_asan_link_order=0"}
text = harness.run(chosen, 1, arguments, expect=2, **fault, CAMBRIAN_FAULT_LOCKS="none")
if "cannot be locked (No locks available)" not in text:
    harness.fail(f"a file system without locks must be named\n{text}")

# Workers that do not see the lock of rank 0 go on with it, and leave when it dies.
program = chosen.work / "program"
program.write_text(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export LD_PRELOAD={chosen.faulty} CAMBRIAN_FAULT_LOCKS=own
exec {chosen.program} "$@"
""")
program.chmod(0o755)
launched = harness.argparse.Namespace(launcher=chosen.launcher, program=str(program))
job = harness.start(launched, 3, arguments, ASAN_OPTIONS="verify_asan_link_order=0")
log = directory / "generations.csv"
harness.wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, 60, "generations of the run")
logs = lambda: "".join(path.read_text() for path in (directory / "logs").iterdir())
harness.wait_until(lambda: logs().count("will not follow a coordinator that dies") == 2, 30, "a word of each worker about the lock")
os.kill(harness.ranks_of(job, chosen.program)[0], signal.SIGKILL)
killed = time.monotonic()
harness.finish(job, "rank 0 was killed where nobody sees its lock", 60, expect=1)
passed = time.monotonic() - killed
if passed > 2 * LEASE + 10:
    harness.fail(f"the workers left {passed:.1f} s after rank 0 was killed")
if harness.json.loads((directory / "coordinator.json").read_text())["epoch"] != 1:
    harness.fail("a rank has followed")
harness.run(chosen, 2, [*arguments, "--continue"])
harness.same(expected, directory, "a run resumed after its workers had left")
print(f"the workers left {passed:.1f} s after the death of rank 0, with a lease of {LEASE} s")
