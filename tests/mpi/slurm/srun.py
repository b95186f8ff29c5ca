"""srun starts the ranks over PMIx: a Slurm of one host, of this test's own, gives the bytes of one process; also where rank 0 is killed."""
import os
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402

from slurm_host import Slurm, need_slurm

LEASE = 1.5

chosen = harness.options(__doc__)
need_slurm()
experiment, expected, duration = harness.unbroken_cart_pole(chosen, "slurm", 40)
with Slurm(chosen.work / "slurm") as slurm:
    slurm.wait_for_node()
    for ranks in (2, 3):
        directory = chosen.work / f"ranks-{ranks}"
        harness.finish(slurm.start(chosen.program, ranks, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}"]),
                       f"srun -n {ranks}", 60)
        harness.same(expected, directory, f"srun -n {ranks}")
        if len(list((directory / "logs").iterdir())) != ranks - 1:
            harness.fail(f"srun -n {ranks}: not all ranks worked together")
    directory = chosen.work / "killed"
    job = slurm.start(chosen.program, 3, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                          "--set", f"distributed.lease_seconds={LEASE}"])
    log = directory / "generations.csv"
    harness.wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, 60, "generations of the run")
    # The ranks are children of slurmd, not of srun.
    holder = (directory / "lock").read_text().split()[0]
    os.kill(int(holder), signal.SIGKILL)
    text, _ = job.communicate(timeout=60)
    state = harness.state_of(directory)
    print(f"rank 0 killed under srun: exit code {job.returncode}, the run is {state}")
    if state != "done":
        harness.run(chosen, 1, ["resume", directory, "--quiet"])
    harness.same(expected, directory, "rank 0 killed under srun")
