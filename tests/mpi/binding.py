"""Rank 0 says which processors each rank is bound to, and warns where more ranks than processors share them."""
import os
import re

import harness

chosen = harness.options(__doc__)
processors = sorted(os.sched_getaffinity(0))
if len(processors) < 2:
    print("skipped: there is only one processor to bind ranks to")
    raise SystemExit(77)
experiment = harness.config(chosen, "bound", 3, 20, {"type": "xor"})


def flagged(name, *flags):
    """What a job says on two ranks that mpirun is told about so."""
    command = [chosen.launcher, "-n", "2", *flags, chosen.program, "evolve", str(experiment), "--set",
               f"run.directory={chosen.work / name}-run"]
    started = harness.subprocess.Popen(command, stdout=harness.subprocess.PIPE, stderr=harness.subprocess.STDOUT, text=True,
                                       start_new_session=True)
    return harness.finish(started, name)


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
# mpirun itself would bind each of two ranks to one core, on whatever hosts.
hosts = chosen.work / "hosts"
hosts.write_text("localhost slots=2\n")
text = flagged("hostfile", "--hostfile", str(hosts))
if "bound to" in text:
    harness.fail(f"ranks are not bound unless they are told to\n{text}")
for name, flags in (("cores", ["--bind-to", "core"]), ("policy", ["--mca", "hwloc_base_binding_policy", "core"]),
                    ("elements", ["--map-by", "slot:PE=1", "--hostfile", str(hosts)])):
    text = flagged(name, *flags)
    if text.count(", bound to ") != 2 or "the same processors" in text:
        harness.fail(f"{flags} binds each rank to a core\n{text}")
# The example of a host file, which mpirun maps without starting anything.
example = harness.Path(chosen.launcher).parent / "hosts.example"
text = harness.subprocess.run(["mpirun", "--hostfile", str(example), "--do-not-launch", "--display-allocation", "-n", "6", "true"],
                              capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}).stdout
for node, ranks in (("node01", 1), ("node02", 1), ("gpu01", 4)):
    if not re.search(rf"Data for node: {node}\s.*Num procs: {ranks}\b", text):
        harness.fail(f"{example} gives {node} {ranks} ranks\n{text}")
print("bindings were told, and shared processors warned of")
