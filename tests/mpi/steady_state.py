"""The steady state gives the same bytes on any ranks and exchange, after kills of the job and of rank 0, with a rank that
is stopped now and then, and on islands, too."""
import os
import random
import signal
import time

import harness

LEASE = 1.5

chosen = harness.options(__doc__, kills=1, seed=5, generations=500)
draw = random.Random(chosen.seed)
TASK = {"type": "cart_pole", "episodes": 3, "steps": 200, "validation": {"every": 40, "episodes": 8}}
PLAIN = ["--set", "population.reevaluate=never", "--set", "steady_state.window=40", "--set", "steady_state.block=5"]
ISLANDS = [*PLAIN, "--set", "islands.count=3", "--set", "islands.every=3", "--set", "islands.extinction_every=20"]
experiment = harness.config(chosen, "steady", chosen.generations, 60, TASK)


def start(ranks, directory, *settings):
    return harness.start(chosen, ranks, ["evolve", experiment, "--quiet", "--continue", "--set", f"run.directory={directory}",
                                         "--set", f"distributed.lease_seconds={LEASE}", *settings])


def end(job, what):
    harness.finish(job, what, 60)


def kill(victim, directory, steady):
    """Whether it came to that: a job of all its ranks, or its rank 0, and then a rank that took over."""
    job = start(draw.choice([2, 3, 4]), directory, *steady)
    before = rows(directory)
    harness.wait_until(lambda: rows(directory) > before + 5 or job.poll() is not None, 30, "blocks to be told")
    time.sleep(draw.uniform(0.0, 0.1))
    alive = harness.ranks_of(job, chosen.program)
    if job.poll() is not None or len(alive) < 2 or 0 not in alive:
        end(job, f"{victim} was to be killed")
        return False
    if victim == "job":
        harness.kill_group(job)
        return True
    os.kill(alive[0], signal.SIGKILL)
    return not harness.finish_killed(job, f"{victim} killed", harness.state_of(directory) == "done", 60)


def rows(directory):
    log = directory / "generations.csv"
    return log.read_text().count("\n") - 1 if log.exists() else 0


for name, steady in (("plain", PLAIN), ("islands", ISLANDS)):
    alone = chosen.work / f"{name}-alone"
    end(start(1, alone, *steady), f"{name}, alone")
    expected = harness.results(alone)
    if rows(alone) != chosen.generations:
        harness.fail(f"{name}: {rows(alone)} rows of {chosen.generations} blocks")
    for ranks, exchange in ((2, "births"), (4, "genomes"), (3, "births")):
        directory = chosen.work / f"{name}-{ranks}"
        end(start(ranks, directory, *steady, "--set", f"distributed.exchange={exchange}"), f"{name}, {ranks} ranks")
        harness.same(expected, directory, f"{name}, {ranks} ranks, {exchange}")
    killed, attempt = dict.fromkeys(("job", "rank 0"), 0), 0
    for attempt in harness.attempts(lambda: min(killed.values()) >= chosen.kills, 4 * chosen.kills + 4,
                                    f"{name}: most runs ended before they could be killed"):
        # The whole job, then rank 0 of the job that goes on.
        directory = chosen.work / f"{name}-killed-{attempt}"
        for victim in killed:
            killed[victim] += kill(victim, directory, steady)
        end(start(2, directory, *steady), f"{name}: gone on with")
        harness.same(expected, directory, f"{name}, job and rank 0 killed")
    print(f"{name}: the same bytes on any ranks; killed in {attempt} runs: {killed}")

stops = 0
for attempt in harness.attempts(lambda: stops > 0, 4, "most runs ended before a rank could be stopped"):
    directory = chosen.work / f"stopped-{attempt}"
    job = start(3, directory, *PLAIN, "--set", "distributed.shard_size=1", "--set", "distributed.lease_seconds=30")
    victim = None
    for pause in range(3):
        harness.wait_until(lambda: rows(directory) > 20 * (pause + 1) or job.poll() is not None, 30, "blocks to be told")
        # Asked once: on a busy machine the run goes far meanwhile.
        victim = victim or harness.ranks_of(job, chosen.program).get(1)
        if victim and not harness.ended(victim):
            os.kill(victim, signal.SIGSTOP)
            stops += harness.state_of(directory) == "running"
            time.sleep(0.2)
            os.kill(victim, signal.SIGCONT)
    end(job, "a rank stopped now and then")
    harness.same(harness.results(chosen.work / "plain-alone"), directory, "a rank stopped now and then")
print(f"stopped: {stops} stops of a rank changed no byte")

# The window is part of what a run is; a window below the work in flight is refused.
text = harness.run(chosen, 1, ["resume", directory, "--quiet", "--set", "steady_state.window=45"], expect=2)
if "steady_state.window cannot change from 40 to 45" not in text:
    harness.fail(f"another window must be refused:\n{text}")
text = harness.run(chosen, 1, ["evolve", experiment, "--set", "population.reevaluate=never", "--set", "steady_state.window=2",
                               "--set", "steady_state.block=5"], expect=2)
if "steady_state.window is 2" not in text:
    harness.fail(f"a window below a block must be refused:\n{text}")
