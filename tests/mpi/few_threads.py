"""A worker that can start no thread leaves the run to the others; a coordinator ends the job."""
import os

import harness

chosen = harness.options(__doc__, faulty="")
experiment = harness.config(chosen, "few", 6, 30, {"type": "xor"})
alone = chosen.work / "alone"
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
expected = harness.results(alone)


def run(refused_rank, room, expect):
    """A job on two ranks, one of which can start only so many threads."""
    directory = chosen.work / f"rank-{refused_rank}-{room}"
    program = chosen.work / "program"
    program.write_text(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = {refused_rank} ] && export LD_PRELOAD={chosen.faulty} CAMBRIAN_FAULT_THREADS={room}
exec {chosen.program} "$@"
""")
    program.chmod(0o755)
    launched = harness.argparse.Namespace(launcher=chosen.launcher, program=str(program))
    text = harness.run(launched, 2, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                     "--set", "engine.threads=4"], expect=expect, ASAN_OPTIONS="verify_asan_link_order=0")
    if text.count("one more thread cannot be started") != 1:
        harness.fail(f"rank {refused_rank} with {room} threads: it must be said once\n{text}")
    if expect == 0:
        harness.same(expected, directory, f"rank 1 with {room} threads")


# MPI itself starts two or three, a rank four more with its compute thread.
for room in (4, 5):
    run(1, room, 0)
    run(0, room, 4)

# All ranks of a simulation share one thread.
scaling = harness.subprocess.run(
    [harness.Path(chosen.program).parent / "cambrian_scaling", "--ranks", "40", "--generations", "3", "--per-rank", "2"],
    capture_output=True, text=True, timeout=60,
    env={**os.environ, "LD_PRELOAD": chosen.faulty, "CAMBRIAN_FAULT_THREADS": "0", "ASAN_OPTIONS": "verify_asan_link_order=0"})
if scaling.returncode != 0:
    harness.fail(f"a simulation without a thread to start: exit code {scaling.returncode}\n{scaling.stderr}")
print("refused threads were told of, and changed no byte")
