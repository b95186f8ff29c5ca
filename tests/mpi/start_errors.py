"""What mpirun says when it cannot start a job is seen; what it says of ranks that die is not."""
import os
import signal
import subprocess

import harness

chosen = harness.options(__doc__)
experiment = harness.config(chosen, "refused", 3, 20, {"type": "xor"})
small = chosen.work / "small-hosts"
small.write_text("localhost slots=1\n")
program = [chosen.program, "evolve", str(experiment), "--quiet"]
CASES = [(["-n", "2", "--hostfile", str(chosen.work / "no-hosts"), *program], "unable to open the hostfile", 1),
         (["-n", "2", "--hostfile", str(small), *program], "There are not enough slots available", 1),
         (["-n", "2", "--no-such-option", *program], "unknown option", 1),
         (["-n", "2", "--mca", "btl", "no-such-transport", *program], "An error occurred in MPI_Init", 1),
         (["-n", "2", "--hostfile", str(small), "no-such-program"], "no program to start was found", 2)]
for arguments, words, code in CASES:
    for attempt in range(3):
        job = subprocess.run([chosen.launcher, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=60)
        if job.returncode != code or "launch/mpi: " not in job.stdout:
            break
        # mpirun may lose what a rank said last when that rank ends in its first moments.
        if words in job.stdout or words != "An error occurred in MPI_Init":
            break
    if job.returncode != code or words not in job.stdout or "launch/mpi: " not in job.stdout:
        harness.fail(f"{arguments}: exit code {job.returncode} and\n{job.stdout}instead of {code} and '{words}'")

# An error is said by rank 0 alone.
text = harness.run(chosen, 3, ["evolve", chosen.work / "absent.json"], expect=3)
if len(text.splitlines()) != 1:
    harness.fail(f"an error of rank 0 must be all that is said:\n{text}")

# Workers that wait for the first word of rank 0 are told that none will come.
text = harness.run(chosen, 3, ["evolve", experiment, "--set", "network.initial=absent.cmb"], expect=3)
if len(text.splitlines()) != 1 or "network.initial is absent.cmb" not in text:
    harness.fail(f"an error of rank 0 before the run must end it at once:\n{text}")

# A worker whose folder has no data, or no config, leaves with a word of rank 0, which does not wait for it.
table = {"type": "table", "mode": "regression", "train": ["rows.csv"], "inputs": ["a"], "targets": ["b"]}
config = harness.config(chosen, "absent_files", 3, 10, table).read_text()
ranks = []
for name, files in (("whole", {"run.json": config, "rows.csv": "a,b\n1,2\n2,4\n3,6\n4,8\n"}), ("no_data", {"run.json": config}), ("no_config", {})):
    (chosen.work / name).mkdir()
    for file, content in files.items():
        (chosen.work / name / file).write_text(content)
    ranks += [":", "-n", "1", "-wd", str(chosen.work / name), chosen.program, "evolve", "run.json", "--quiet",
              "--set", f"run.directory={chosen.work / 'absent_files'}"]
job = subprocess.run([chosen.launcher, "--oversubscribe", *ranks[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                     stderr=subprocess.STDOUT, text=True, timeout=60)
for words in ("rank 1 leaves the run", "rows.csv", "rank 2 leaves the run", "run.json"):
    if words not in job.stdout or "have not reported yet" in job.stdout or job.returncode != 0:
        harness.fail(f"rank 0 must say why workers leave before the run (exit code {job.returncode}, not '{words}'):\n{job.stdout}")

# Of a worker that is killed only the coordinator speaks.
directory = chosen.work / "killed"
job = harness.start(chosen, 3, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                "--set", "run.stop.generations=2000", "--set", "distributed.lease_seconds=1"])
log = directory / "generations.csv"
harness.wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, 60, "generations of the run")
os.kill(harness.ranks_of(job, chosen.program)[2], signal.SIGKILL)
text, _ = job.communicate(timeout=120)
if job.returncode != 0 or any("rank 2 on" not in line for line in text.splitlines()):
    harness.fail(f"a killed worker must be told of by rank 0 alone (exit code {job.returncode}):\n{text}")
print(f"{len(CASES)} jobs that could not start said why")
