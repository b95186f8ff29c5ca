"""Runs over TCP between several hosts: the same bytes, also with a host cut off for a while and with ranks killed."""
import os
import random
import signal
import time

import harness
import virtual_hosts

LEASE = 2.0

chosen = harness.options(__doc__, cuts=2, kills=2, seconds=3.0, seed=4, generations=80)
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
    harness.finish(job, what, 180)
    harness.same(expected, directory, what)


experiment, expected, duration = harness.unbroken_cart_pole(chosen, "hosts", chosen.generations)
with virtual_hosts.VirtualHosts(HOSTS, chosen.work / "hosts") as hosts:
    job = begin(hosts, chosen.work / "quiet", 6)
    end(job, chosen.work / "quiet", "six ranks on three hosts")
    cuts, kills, of_coordinators = 0, 0, 0
    for attempt in harness.attempts(lambda: cuts >= chosen.cuts, 4 * chosen.cuts, "most runs ended before a host could be cut off"):
        directory = chosen.work / f"cut-{attempt}"
        ranks = draw.choice([3, 6])
        job = begin(hosts, directory, ranks)
        time.sleep(draw.uniform(0.0, 0.5) * duration)
        # mpirun's own host is not one of them; rank 0 is on the first, and so is the next: two fit on a host.
        host = draw.choice(range(2, (ranks + 1) // 2 + 1))
        hosts.cut_off(host)
        cuts += job.poll() is None
        time.sleep(draw.uniform(0.3, 1.0) * chosen.seconds)
        hosts.bring_back(host)
        end(job, directory, f"host {host} cut off")
    for attempt in harness.attempts(lambda: kills >= chosen.kills, 4 * chosen.kills, "most runs ended before a rank could be killed"):
        directory = chosen.work / f"kill-{attempt}"
        job = begin(hosts, directory, draw.choice([3, 6]))
        time.sleep(draw.uniform(0.0, 0.4) * duration)
        alive = harness.ranks_of(job, chosen.program)
        if len(alive) > 1 and job.poll() is None:
            victim = 0 if draw.random() < 0.5 and 0 in alive else draw.choice(sorted(alive))
            os.kill(alive[victim], signal.SIGKILL)
            kills += 1
            of_coordinators += victim == 0
        end(job, directory, f"a rank of {len(alive)} killed")
print(f"three hosts, {cuts} cuts of up to {chosen.seconds:g} s, {kills} killed ranks ({of_coordinators} of them rank 0): "
      "the same bytes")
