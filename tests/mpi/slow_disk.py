"""A disk that holds rank 0 up for several leases loses no worker."""
import harness

chosen = harness.options(__doc__, faulty="")
experiment, expected, _ = harness.unbroken_cart_pole(chosen, "slow", 40)
directory = chosen.work / "run"
harness.run(chosen, 3, ["evolve", experiment, "--quiet", "--set", f"run.directory={directory}",
                        "--set", "distributed.lease_seconds=2"],
            LD_PRELOAD=chosen.faulty, CAMBRIAN_FAULT_FSYNC_SECONDS="1", ASAN_OPTIONS="verify_asan_link_order=0")
logs = "".join(path.read_text() for path in (directory / "logs").iterdir())
if logs.count("stop: the run has ended") != 2:
    harness.fail(f"every worker must stay to the end:\n{logs}")
harness.same(expected, directory, "a run on a slow disk")
print("workers stayed with a rank 0 whose disk took longer than a lease")
