"""Memory and file handles of every rank stay flat over a long run."""
import os

import harness

MEBIBYTE = 1 << 20

chosen = harness.options(__doc__, generations=24000, growth=8.0)
experiment = harness.config(chosen, "soak", chosen.generations, 150, {"type": "xor"})
directory = chosen.work / "run"
# Fixed networks: what grows is not what evolves.
job = harness.start(chosen, 2, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                                "--set", "mutation.layer_insert_rate=0", "--set", "mutation.link_add_rate=0",
                                "--set", "checkpoint.every=200", "--set", "log.individuals=none"])
status = directory / "status.json"


def generation():
    try:
        return harness.json.loads(status.read_text())["generation"]
    except (OSError, ValueError):
        return 0


def sample(ranks):
    """Resident MiB and open files of each rank."""
    found = {}
    for rank, pid in ranks.items():
        try:
            pages = int(harness.Path(f"/proc/{pid}/statm").read_text().split()[1])
            found[rank] = (pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE, len(os.listdir(f"/proc/{pid}/fd")))
        except OSError:
            return None
    return found


harness.wait_until(lambda: generation() > chosen.generations // 10 or job.poll() is not None, 600, "a tenth of the run")
ranks = harness.ranks_of(job, chosen.program)
samples = []
while job.poll() is None:
    if now := sample(ranks):
        samples.append(now)
    harness.time.sleep(0.2)
harness.finish(job, "a long run")
if len(samples) < 20:
    harness.fail(f"only {len(samples)} samples were taken: give more --generations")
fifth = len(samples) // 5
for rank in ranks:
    memory = [max(one[rank][0] for one in part) for part in (samples[:fifth], samples[-fifth - 5:-5])]
    files = [max(one[rank][1] for one in part) for part in (samples[:fifth], samples[-fifth - 5:-5])]
    print(f"rank {rank}: {memory[0]:.1f} MiB early, {memory[1]:.1f} late; {files[0]} and {files[1]} open files")
    if memory[1] > memory[0] + chosen.growth or files[1] > files[0]:
        harness.fail(f"rank {rank} grows")
print(f"{chosen.generations} generations, {len(samples)} samples: flat")
