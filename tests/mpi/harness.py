"""Starts whole jobs of the program and compares what they leave behind."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULTS = ("generations.csv", "individuals.cmb", "islands.csv", "species.csv", "best.cmb", "best_genotype.cmb")
ALWAYS = ("generations.csv", "individuals.cmb", "best.cmb")


def options(description, **extra):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--backend", default="cpu", choices=("cpu", "vulkan"))
    parser.add_argument("--strategy", default="elite")
    parser.add_argument("--genome", default="volumetric", choices=("volumetric", "hyperneat"))
    # What is promised; a machine that runs other work beside may be later.
    parser.add_argument("--late", type=float, default=2.0, help="seconds after a lease within which a job ends or goes on")
    for name, value in extra.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    chosen = parser.parse_args()
    shutil.rmtree(chosen.work, ignore_errors=True)
    chosen.work.mkdir(parents=True)
    return chosen


VARIATION = {
    "volumetric": {
        "network": {"layers": [{"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}]},
        "mutation": {"layer_insert_rate": 0.1, "link_add_rate": 0.1, "layer_type_rate": 0.05}},
    "hyperneat": {
        "network": {"layers": [{"type": "neurons"}]},
        "genome": {"type": "hyperneat", "node_add_rate": 0.3, "connection_add_rate": 0.3, "activation_rate": 0.1,
                   "substrate": {"type": "evolved", "bias": True, "search": {"initial_depth": 2}}}}}


def config(chosen, name, generations, population, task):
    """A small experiment with every mutation at work."""
    path = chosen.work / f"{name}.json"
    path.write_text(json.dumps({
        "run": {"name": name, "directory": "unset", "seed": 11, "stop": {"generations": generations}},
        "population": {"size": population},
        # More of a species are often carried over than may be parents.
        "strategy": {"type": chosen.strategy},
        "species": {"threshold": 1.5, "target": 6, "survival": 0.05, "elitism": 4, "elitism_size": 2, "interspecies_rate": 0.2},
        "engine": {"backend": chosen.backend, "device": "software", "cache_directory": str(chosen.work / "cache")},
        "task": task,
        **VARIATION[chosen.genome],
        "checkpoint": {"every": 3, "seconds": 1000}}))
    return path


def unbroken_cart_pole(chosen, name, generations=150):
    """A run on one rank that nothing disturbs: its config, what it leaves behind, and its seconds."""
    task = {"type": "cart_pole", "episodes": 3, "steps": 200, "validation": {"every": 4, "episodes": 8}}
    experiment = config(chosen, name, generations, 150, task)
    alone = chosen.work / "alone"
    begin = time.monotonic()
    run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
    return experiment, results(alone), time.monotonic() - begin


def command(chosen, ranks, arguments):
    program = [chosen.program, *map(str, arguments)]
    return program if ranks == 1 else [chosen.launcher, "-n", str(ranks), *program]


def start(chosen, ranks, arguments, **environment):
    return subprocess.Popen(command(chosen, ranks, arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, start_new_session=True, env={**os.environ, **environment})


def run(chosen, ranks, arguments, expect=0, **environment):
    return finish(start(chosen, ranks, arguments, **environment), f"{ranks} ranks, {arguments}", 300, expect)


def finish(job, what, seconds=120, expect=0):
    """What a job said, once it has ended by itself with that exit code, or one of those."""
    try:
        text, _ = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill_group(job)
        fail(f"{what}: no end within {seconds} s")
    if job.returncode not in (expect if isinstance(expect, tuple) else (expect,)):
        fail(f"{what}: exit code {job.returncode} instead of {expect}\n{text}")
    return text


def state_of(directory):
    """What a run says of itself."""
    return json.loads((directory / "status.json").read_text())["state"]


def finish_killed(job, what, ended, seconds=120):
    """Whether a job says that it is to be run again; only one may whose rank 0 has no successor: it was killed after the end
    of its run, before it told its exit code, or before the others had heard of it."""
    text = finish(job, what, seconds, expect=(0, 1))
    if job.returncode == 1 and not ended and "before the others had heard of it" not in text:
        fail(f"{what}: no rank went on for rank 0\n{text}")
    if job.returncode == 1 and "run it again with --continue" not in text:
        fail(f"{what}: rank 0 has no successor, and the job did not say what to do\n{text}")
    return job.returncode == 1


def processes_below(pid):
    """Every descendant of a process, by /proc."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                parents[int(entry.name)] = int(fields[1])
            except OSError:
                continue
    found, frontier = [], [pid]
    while frontier:
        frontier = [child for child, parent in parents.items() if parent in frontier]
        found += frontier
    return found


def ranks_of(job, program):
    """Process ids of the ranks of a job, with their rank number."""
    ranks = {}
    for pid in [job.pid, *processes_below(job.pid)]:
        try:
            executable = os.readlink(f"/proc/{pid}/exe")
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.path.realpath(executable) == os.path.realpath(program):
            number = [int(v.split(b"=")[1]) for v in environment if v.startswith(b"OMPI_COMM_WORLD_RANK=")]
            ranks[number[0] if number else 0] = pid
    return ranks


def ended(pid):
    """Whether a process holds nothing any more: it is gone, or nobody has asked yet how it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def kill_group(job):
    """Kills a job's processes on this host and waits until they have let go of their files."""
    killed = [*processes_below(job.pid), job.pid]
    for pid in killed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    job.wait()
    wait_until(lambda: all(map(ended, killed)), 60, "the end of killed processes")
    for pid in killed:
        for file in status_files(pid, tempfile.gettempdir()):
            file.unlink(missing_ok=True)


def status_files(launcher, folder):
    """What a launch/mpi of that process id removes at its end, which one that is killed does not come to."""
    return list(Path(folder).glob(f"cambrian-status-{launcher}-*"))


def results(directory):
    """The bytes of each; some are there where there are islands, species or genotypes."""
    return {name: (directory / name).read_bytes() for name in RESULTS
            if name in ALWAYS or (directory / name).exists()}


def same(expected, directory, what):
    found = results(directory)
    for name in expected.keys() | found.keys():
        if found.get(name) != expected.get(name):
            fail(f"{what}: {name} differs from the run on one rank")


def attempts(enough, most, otherwise):
    """Numbers of attempts, from 1 on, until there are enough of what they count; fails after so many."""
    for attempt in range(1, most + 1):
        if enough():
            return
        yield attempt
    if not enough():
        fail(otherwise)


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            fail(f"{what}: not within {seconds} s")
        time.sleep(0.005)
