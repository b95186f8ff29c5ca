"""A Slurm of one host, for tests of what runs under it."""
import os
import shutil
import subprocess
import sys
import time

SKIPPED = 77  # What ctest takes for a test that could not run.


def skip(why):
    print(f"skipped: {why}", file=sys.stderr)
    sys.exit(SKIPPED)


def need_slurm():
    if os.geteuid() != 0 or not all(map(shutil.which, ("slurmctld", "slurmd", "srun"))):
        skip("slurmctld and slurmd are not installed, or this is not root")


class Slurm:
    """slurmctld and slurmd in the foreground, without their passwords, ended with the test."""

    def __init__(self, folder, port=26817):
        folder.mkdir()
        host = os.uname().nodename.split(".")[0]
        (folder / "slurm.conf").write_text(f"""
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={port + 1}
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
KillWait=5
MinJobAge=600
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

    def start(self, program, ranks, arguments):
        command = ["srun", "-n", str(ranks), "--overcommit", "--mpi=pmix", "--kill-on-bad-exit=0", program, *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True)

    def wait_for_node(self):
        end = time.monotonic() + 20
        while "idle" not in self.says("sinfo", "-h", "-o", "%T"):
            if time.monotonic() > end:
                skip("no Slurm node came up within 20 s")
            time.sleep(0.2)
        if "pmix" not in self.says("srun", "--mpi=list"):
            skip("this srun speaks no PMIx")
