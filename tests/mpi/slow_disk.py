"""A disk that holds rank 0 up for several leases loses no worker."""
import harness

chosen = harness.options(__doc__, faulty="")
experiment, expected, _ = harness.unbroken_cart_pole(chosen, "slow", 40)
directory, syncs = chosen.work / "run", chosen.work / "syncs"
harness.run(chosen, 3, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                        "--set", "distributed.lease_seconds=2"],
            LD_PRELOAD=chosen.faulty, CAMBRIAN_FAULT_SYNC_SECONDS="1", CAMBRIAN_FAULT_SYNCS=str(syncs),
            ASAN_OPTIONS="verify_asan_link_order=0")
# Files that are replaced, and logs that grow.
met = syncs.read_text().split() if syncs.exists() else []
if min(met.count("fsync"), met.count("fdatasync")) < 4:
    harness.fail(f"the disk was not slow, or hardly: {met}")
logs = "".join(path.read_text() for path in (directory / "logs").iterdir())
if logs.count("stop: the run has ended") != 2:
    harness.fail(f"every worker must stay to the end:\n{logs}")
harness.same(expected, directory, "a run on a slow disk")
print("workers stayed with a rank 0 whose disk took longer than a lease")
