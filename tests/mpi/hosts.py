"""Runs over TCP between several hosts: the same bytes, also with a host cut off for a while and with ranks killed."""
import os
import random
import signal
import time

import harness
import virtual_hosts

LEASE = 2.0

chosen = harness.options(__doc__, cuts=2, kills=2, seconds=3.0, seed=2, generations=80)
draw = random.Random(chosen.seed)
HOSTS = 3


def begin(hosts, directory, ranks):
    command = [chosen.launcher, *hosts.flags, "-n", str(ranks), chosen.program, "evolve", str(experiment), "--quiet",
               "--set", f"run.directory={directory}", "--set", f"distributed.lease_seconds={LEASE}"]
    job = harness.subprocess.Popen(command, stdout=harness.subprocess.PIPE, stderr=harness.subprocess.STDOUT, text=True,
                                   start_new_session=True)
    log = directory / "generations.csv"
    harness.wait_until(lambda: (log.exists() and log.read_text().count("\n") > 2) or job.poll() is not None, 60,
                       "the first generations")
    return job


def end(job, directory, what):
    text = harness.finish(job, what, 180)
    harness.same(expected, directory, what)
    return text


experiment, expected, duration = harness.unbroken_cart_pole(chosen, "hosts", chosen.generations)
with virtual_hosts.VirtualHosts(HOSTS, chosen.work / "hosts") as hosts:
    job = begin(hosts, chosen.work / "quiet", 6)
    end(job, chosen.work / "quiet", "six ranks on three hosts")
    cuts, lapses, kills, of_coordinators = 0, 0, 0, 0
    for attempt in harness.attempts(lambda: cuts >= chosen.cuts and lapses >= chosen.cuts // 2, 4 * chosen.cuts,
                                    "most runs ended before a host could be cut off, or before a lease had lapsed"):
        directory = chosen.work / f"cut-{attempt}"
        ranks = draw.choice([3, 6])
        job = begin(hosts, directory, ranks)
        time.sleep(draw.uniform(0.0, 0.5) * duration)
        # mpirun's own host is not one of them; rank 0 is on the first, and so is the next: two fit on a host.
        host = draw.choice(range(1, (ranks + 1) // 2 + 1))
        # Every second one outlasts a lease.
        long = attempt % 2 == 0
        hosts.cut_off(host)
        running = harness.state_of(directory) == "running"
        time.sleep(draw.uniform(1.5, 2.5) * LEASE if long else draw.uniform(0.3, 1.0) * chosen.seconds)
        hosts.bring_back(host)
        text = end(job, directory, f"host {host} cut off")
        cuts += running
        lapses += running and long and "has been silent for a lease" in text
    for attempt in harness.attempts(lambda: kills >= chosen.kills and of_coordinators > 0, 4 * chosen.kills,
                                    "most runs ended before a rank could be killed, or none of them was rank 0"):
        directory = chosen.work / f"kill-{attempt}"
        job = begin(hosts, directory, draw.choice([3, 6]))
        time.sleep(draw.uniform(0.0, 0.4) * duration)
        alive = harness.ranks_of(job, chosen.program)
        if len(alive) > 1 and job.poll() is None:
            victim = 0 if draw.random() < 0.5 and 0 in alive else draw.choice(sorted(alive))
            os.kill(alive[victim], signal.SIGKILL)
            running = harness.state_of(directory) == "running"
            kills += running
            of_coordinators += running and victim == 0
        end(job, directory, f"a rank of {len(alive)} killed")
print(f"three hosts, {cuts} cuts, {lapses} of them longer than a lease, {kills} killed ranks ({of_coordinators} of them rank 0): "
      "the same bytes")
