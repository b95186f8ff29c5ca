"""An array of batch jobs on a Slurm of this test's own, each with a seed: the time limit ends them, they go back into the queue and on.

Both runs have the bytes of runs that nothing ended.
"""
import pathlib
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402
from slurm_host import Slurm, need_slurm

SEEDS = (1, 2)
LIMIT_SECONDS = 60  # The shortest that Slurm has.
BATCH = pathlib.Path(__file__).resolve().parents[3] / "launch" / "slurm.sbatch"

chosen = harness.options(__doc__)
need_slurm()


def long_experiment():
    """One that takes longer than a job may."""
    short, _, seconds = harness.unbroken_cart_pole(chosen, "short", 200)
    generations = int(200 * 1.7 * LIMIT_SECONDS / seconds)
    task = harness.json.loads(short.read_text())["task"]
    return harness.config(chosen, "long", generations, 150, task), generations


def submit(slurm, experiment):
    command = ["sbatch", "--parsable", f"--array={SEEDS[0]}-{SEEDS[-1]}", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=1",
               "--time=1", "--signal=USR1@30", f"--output={chosen.work}/job-%a.log", f"--chdir={chosen.work}", str(BATCH),
               str(experiment), "--quiet", "--set", f"run.directory={chosen.work}/array-{{seed}}", "--set", "engine.threads=1"]
    done = subprocess.run(command, env={**slurm.environment, "CAMBRIAN": chosen.program}, capture_output=True, text=True,
                          check=False, timeout=30)
    if done.returncode != 0:
        harness.fail(f"sbatch ended with {done.returncode}: {done.stderr}")
    return done.stdout.strip()


def states():
    def state(seed):
        status = chosen.work / f"array-{seed}" / "status.json"
        return harness.json.loads(status.read_text())["state"] if status.exists() else "none"
    return [state(seed) for seed in SEEDS]


experiment, generations = long_experiment()
with Slurm(chosen.work / "slurm", 26827) as slurm:
    slurm.wait_for_node()
    job = submit(slurm, experiment)
    end = time.monotonic() + 1800
    while states() != ["done"] * len(SEEDS):
        if time.monotonic() > end:
            harness.fail(f"array {job} did not end: {states()}\n" + slurm.says("squeue", "-l"))
        # What was put back waits for two minutes, unless it is told that it may start.
        for line in slurm.says("squeue", "-h", "-t", "PD", "-o", "%A").split():
            slurm.says("scontrol", "update", f"JobId={line}", "StartTime=now")
        time.sleep(1)
for seed in SEEDS:
    text = (chosen.work / f"job-{seed}.log").read_text()
    returned = text.count("goes back into the queue")
    print(f"seed {seed}: {generations} generations, {returned} times back in the queue")
    if returned == 0:
        harness.fail(f"no time limit ended the job of seed {seed}:\n{text}")
    directory = chosen.work / f"unbroken-{seed}"
    harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}", "--set", f"run.seed={seed}",
                            "--set", "engine.threads=1"])
    harness.same(harness.results(directory), chosen.work / f"array-{seed}", f"seed {seed} as a task of an array")
