"""Workers need no file that a run starts from: rank 0 reads network.initial for them, for the same bytes."""
import json
import os
import shutil
import subprocess
import harness

chosen = harness.options(__doc__)
TASK = {"type": "cart_pole", "episodes": 2, "steps": 60}
first = harness.config(chosen, "first", 5, 20, TASK)
harness.run(chosen, 1, ["evolve", first, "--quiet", "--set", f"run.directory={chosen.work / 'first'}"])

# Every host has its own folder with the config; only that of rank 0 has the networks.
hosts = [chosen.work / f"host-{rank}" for rank in range(4)]
text = json.loads(harness.config(chosen, "warm", 6, 30, TASK).read_text())
text["network"] = {"initial": ["start.cmb", "elites"]}
text["distributed"] = {"shard_size": 1}
for host in hosts:
    host.mkdir()
    (host / "warm.json").write_text(json.dumps(text))
shutil.copy(chosen.work / "first" / "best.cmb", hosts[0] / "start.cmb")
harness.run(chosen, 1, ["extract", chosen.work / "first", "--elite", "3", "-o", hosts[0] / "elites"])


def arguments(rank, directory):
    return [chosen.program, "evolve", str(hosts[rank] / "warm.json"), "--quiet", "--set", f"run.directory={directory}"]


def job(ranks, directory):
    """A job whose ranks read configs in folders of their own."""
    command = arguments(0, directory)
    if ranks > 1:
        command = ["mpirun", "--oversubscribe", "--bind-to", "none"]
        for rank in range(ranks):
            command += ([":"] if rank else []) + ["-n", "1", *arguments(rank, directory)]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(command, env={**os.environ, **allowed}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)


alone = chosen.work / "alone"
if (done := job(1, alone)).returncode != 0:
    harness.fail(f"1 rank: exit code {done.returncode}\n{done.stdout}")
expected = harness.results(alone)
for ranks in (2, 4):
    directory = chosen.work / f"ranks-{ranks}"
    if (done := job(ranks, directory)).returncode != 0:
        harness.fail(f"{ranks} ranks: exit code {done.returncode}\n{done.stdout}")
    if "leaves the run" in done.stdout or "not reported" in done.stdout:
        harness.fail(f"{ranks} ranks: not all of them worked\n{done.stdout}")
    rows = [line.split(",") for line in (directory / "timings.csv").read_text().splitlines()[1:]]
    if not any(rank != "0" and float(evaluate) > 0 for _, rank, evaluate, *_ in rows):
        harness.fail(f"{ranks} ranks: no worker evaluated anything")
    harness.same(expected, directory, f"{ranks} ranks from network.initial")
# Without the file nobody can start, and rank 0 says why.
(hosts[0] / "start.cmb").unlink()
done = job(2, chosen.work / "none")
if done.returncode == 0 or "network.initial is start.cmb" not in done.stdout:
    harness.fail(f"a missing network.initial: exit code {done.returncode}\n{done.stdout}")
# A resume takes the copy in the run directory, which only rank 0 reads, too.
short = chosen.work / "ranks-2"
harness.run(chosen, 2, ["resume", short, "--quiet", "--set", "run.stop.generations=9"])
harness.run(chosen, 1, ["resume", alone, "--quiet", "--set", "run.stop.generations=9"])
harness.same(harness.results(alone), short, "a resume on 2 ranks without network.initial")
print("2 and 4 ranks gave the bytes of one, and only rank 0 had the file")
