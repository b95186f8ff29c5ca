"""Rank 0 says which processors each rank is bound to, and warns where more ranks than processors share them."""
import os

import harness

chosen = harness.options(__doc__)
processors = sorted(os.sched_getaffinity(0))
if len(processors) < 2:
    print("skipped: there is only one processor to bind ranks to")
    raise SystemExit(77)
experiment = harness.config(chosen, "bound", 3, 20, {"type": "xor"})


def job(name, binding):
    """What a job says on two ranks, each of which runs behind a command that binds it."""
    program = chosen.work / name
    program.write_text(f"#!/bin/sh\nexec taskset -c {binding} {chosen.program} \"$@\"\n")
    program.chmod(0o755)
    launched = harness.argparse.Namespace(launcher=chosen.launcher, program=str(program))
    return harness.run(launched, 2, ["evolve", experiment, "--set", f"run.directory={chosen.work / name}-run"])


first, second = processors[:2]
text = job("shared", str(first))
warning = f"ranks 0, 1 on {os.uname().nodename} are bound to the same processors, {first} ("
if text.count(warning) != 1 or text.count(f", bound to {first}, 1 processors") != 2:
    harness.fail(f"two ranks on one processor must be told of\n{text}")
text = job("own", f"$([ $OMPI_COMM_WORLD_RANK = 0 ] && echo {first} || echo {second})")
if "the same processors" in text or any(f", bound to {one}, 1 processors" not in text for one in (first, second)):
    harness.fail(f"two ranks on processors of their own are as they should be\n{text}")
text = job("free", ",".join(map(str, processors)))
if "bound to" in text:
    harness.fail(f"ranks that are not bound have nothing to say of it\n{text}")
print("bindings were told, and shared processors warned of")
