"""srun starts the ranks over PMIx: a Slurm of one host, of this test's own, gives the bytes of one process; also where rank 0 is killed."""
import os
import shutil
import signal
import subprocess
import sys
import time

import harness

SKIPPED = 77  # What ctest takes for a test that could not run.
LEASE = 1.5

chosen = harness.options(__doc__)


def skip(why):
    print(f"skipped: {why}", file=sys.stderr)
    sys.exit(SKIPPED)


class Slurm:
    """slurmctld and slurmd in the foreground, without their passwords, ended with the test."""

    def __init__(self, folder):
        folder.mkdir()
        host = os.uname().nodename.split(".")[0]
        (folder / "slurm.conf").write_text(f"""
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={len(os.sched_getaffinity(0))} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
""")
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.daemons = []
        for name in ("slurmctld", "slurmd"):
            log = open(folder / f"{name}.log", "w")
            self.daemons.append(subprocess.Popen([name, "-D"], env=self.environment, stdout=log, stderr=log))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def says(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=30).stdout

    def start(self, ranks, arguments):
        command = ["srun", "-n", str(ranks), "--overcommit", "--mpi=pmix", "--kill-on-bad-exit=0", chosen.program, *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True)


if os.geteuid() != 0 or not all(map(shutil.which, ("slurmctld", "slurmd", "srun"))):
    skip("slurmctld and slurmd are not installed, or this is not root")
experiment, expected, duration = harness.unbroken_cart_pole(chosen, "slurm", 40)
with Slurm(chosen.work / "slurm") as slurm:
    end = time.monotonic() + 20
    while "idle" not in slurm.says("sinfo", "-h", "-o", "%T"):
        if time.monotonic() > end:
            skip("no Slurm node came up within 20 s")
        time.sleep(0.2)
    if "pmix" not in slurm.says("srun", "--mpi=list"):
        skip("this srun speaks no PMIx")
    for ranks in (2, 3):
        directory = chosen.work / f"ranks-{ranks}"
        harness.finish(slurm.start(ranks, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}"]),
                       f"srun -n {ranks}", 60)
        harness.same(expected, directory, f"srun -n {ranks}")
        if len(list((directory / "logs").iterdir())) != ranks - 1:
            harness.fail(f"srun -n {ranks}: not all ranks worked together")
    directory = chosen.work / "killed"
    job = slurm.start(3, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                          "--set", f"distributed.lease_seconds={LEASE}"])
    log = directory / "generations.csv"
    harness.wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, 60, "generations of the run")
    # The ranks are children of slurmd, not of srun.
    holder = (directory / "lock").read_text().split()[0]
    os.kill(int(holder), signal.SIGKILL)
    text, _ = job.communicate(timeout=60)
    state = harness.json.loads((directory / "status.json").read_text())["state"]
    print(f"rank 0 killed under srun: exit code {job.returncode}, the run is {state}")
    if state != "done":
        harness.run(chosen, 1, ["resume", directory, "--quiet"])
    harness.same(expected, directory, "rank 0 killed under srun")
