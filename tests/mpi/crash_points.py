"""Rank 0 killed, and stopped for longer than a lease, before each step on a file and before each message; so its successor."""
import os
import random
import signal
import time

import harness

LEASE = 1.0
KILL, STOP = int(signal.SIGKILL), int(signal.SIGSTOP)

# `points` of each kind, spread over the run; 0: all of them. Of several `parts`, which may run side by side, this is `part`.
chosen = harness.options(__doc__, crash_points="", points=0, seed=5, ranks=0, parts=1, part=0)
LONGEST = LEASE + chosen.late  # Seconds from the last death to the end of the whole job, what remained of the run included.
draw = random.Random(chosen.seed)
task = {"type": "cart_pole", "episodes": 2, "steps": 60, "validation": {"every": 2, "episodes": 4}}
experiment = harness.config(chosen, "crash", 8, 24, task)
alone = chosen.work / "alone"
harness.run(chosen, 1, ["evolve", experiment, "--quiet", "--set", f"run.directory={alone}"])
expected = harness.results(alone)


def arguments(directory, *more):
    return ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}", "--set", f"distributed.lease_seconds={LEASE}", *more]


def begin(directory, ranks, crash, *more):
    """A job whose ranks note their steps, with signals before some of them."""
    steps = directory.parent / f"{directory.name}-steps"
    steps.mkdir()
    return steps, harness.start(chosen, ranks, arguments(directory, *more), LD_PRELOAD=chosen.crash_points,
                                CAMBRIAN_CRASH_DIRECTORY=str(directory), CAMBRIAN_CRASH_STEPS=str(steps),
                                CAMBRIAN_CRASH_AT=crash, ASAN_OPTIONS="verify_asan_link_order=0")


def steps_of(steps, rank, kind=""):
    file = steps / str(rank)
    lines = file.read_text().splitlines() if file.exists() else []
    return [line for line in lines if line.startswith(kind)]


def count(crash, victim):
    """The steps of a rank on files and with messages, in a job that goes on."""
    directory = chosen.work / f"count-{victim}"
    steps, job = begin(directory, 3, crash)
    harness.finish(job, "steps were counted")
    harness.same(expected, directory, "a run whose steps are counted")
    counted = {kind: steps_of(steps, victim, kind) for kind in "fm"}
    if not all(counted.values()):
        harness.fail(f"rank {victim} takes no steps on files, or with messages: nothing is crashed\n{counted}")
    return counted


def is_stopped(pid):
    try:
        return harness.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return False


longest = {"followed": 0.0, "resumed": 0.0}
done = {"followed": 0, "resumed": 0, "stopped": 0, "not met": 0}
late = []


def last_crash(job, steps, crashes):
    """When the last of these crashes came, in a job that ends."""
    at, left, end = time.monotonic(), list(crashes), time.monotonic() + 60
    while job.poll() is None and time.monotonic() < end:
        for crash in [crash for crash in left if len(steps_of(steps, *crash[:2])) >= crash[2]]:
            left.remove(crash)
            at = time.monotonic()
        time.sleep(0.01)
    return at


def crash_at(number, victim, kind, step, name, end, before=()):
    """One job with one crash; `before` are those that were to come first."""
    directory = chosen.work / f"run-{number}"
    ranks = chosen.ranks or draw.choice([2, 3, 4] if victim == 0 else [3, 4])
    steps, job = begin(directory, ranks, ",".join([*(f"{rank}{of}{when}:{KILL}" for rank, of, when in before),
                                                  f"{victim}{kind}{step}:{end}"]))
    what = f"rank {victim} of {ranks}, before {name} ({kind}{step}), signal {end}"
    crashed = lambda: len(steps_of(steps, victim, kind)) >= step
    harness.wait_until(lambda: crashed() or job.poll() is not None, 60, what)
    if job.poll() is not None and not crashed():
        done["not met"] += 1  # The run had fewer steps this time.
        harness.finish(job, what)
        harness.same(expected, directory, what)
        return
    if end == STOP:
        pid = harness.ranks_of(job, chosen.program).get(victim)
        time.sleep(1.6 * LEASE)
        stopped = is_stopped(pid)
        if stopped:
            os.kill(pid, signal.SIGCONT)
        elif harness.state_of(directory) != "done":
            harness.fail(f"{what}: the rank was not stopped")
        harness.finish(job, what, 60)
        done["stopped" if stopped else "not met"] += 1  # The others may have ended the run by then.
    else:
        at = last_crash(job, steps, before)
        passed = time.monotonic() - at
        if job.poll() is None:
            harness.kill_group(job)
            harness.fail(f"{what}: no end within 60 s")
        text = job.stdout.read()
        way = "followed" if job.returncode == 0 else "resumed"
        longest[way] = max(longest[way], passed)
        done[way] += 1
        if passed > LONGEST:
            late.append(f"{what}: the job ended {passed:.1f} s later, with exit code {job.returncode}")
        if way == "resumed":
            if job.returncode != 1 or "--continue" not in text:
                harness.fail(f"{what}: exit code {job.returncode}\n{text}")
            harness.run(chosen, 2, arguments(directory, "--continue"))
    harness.same(expected, directory, what)


def spread(names):
    """Numbers of steps: all, or so many of them over the whole run."""
    numbers = range(1, len(names) + 1)
    if chosen.points == 0 or chosen.points >= len(numbers):
        return list(numbers)
    width = len(numbers) / chosen.points
    return [1 + int(width * (i + draw.random())) for i in range(chosen.points)]


met, number = {KILL: 0, STOP: 0}, 0
first = count("", 0)
middle = (0, "f", 2 * len(first["f"]) // 3)
successor = count(f"0f{middle[2]}:{KILL}", 1)
for victim, steps, before in ((0, first, ()), (1, successor, (middle,))):
    for kind, names in steps.items():
        for step in spread(names):
            # A sample leaves out the stops of the successor.
            for end in (KILL, STOP) if victim == 0 or chosen.points == 0 else (KILL,):
                number += 1
                if number % chosen.parts == chosen.part:
                    met[end] += 1
                    crash_at(number, victim, kind, step, names[step - 1], end, before)
if met[KILL] > 0 and done["followed"] + done["resumed"] == 0 or met[STOP] > 0 and done["stopped"] == 0 \
        or 2 * done["not met"] > sum(met.values()):
    harness.fail(f"hardly a rank crashed: {done} of {met[KILL]} kills and {met[STOP]} stops")
print(f"{sum(met.values())} crashes among {sum(map(len, first.values()))} steps of rank 0 and {sum(map(len, successor.values()))} of its successor "
      f"changed no byte: {done}; longest time to the end {longest} s")
if late:
    harness.fail("\n".join([f"no job may end later than {LONGEST} s after a death:", *late]))
