"""launch/mpi where readers of its output leave, where numbers have a decimal comma, and where it is killed itself."""
import os
import signal
import struct
import time

import harness

chosen = harness.options(__doc__)
experiment = harness.config(chosen, "launched", 100000, 20, {"type": "xor"})


def begun(name, *more, **environment):
    """A job on two ranks, and the log of its generations."""
    directory = chosen.work / name
    return harness.start(chosen, 2, ["evolve", experiment, "--set", f"run.directory={directory}", "--set", "log.interval=0",
                                     *more], **environment), directory / "generations.csv"


def wait_for_generations(job, log, count):
    harness.wait_until(lambda: job.poll() is not None or (log.exists() and log.read_text().count("\n") > count), 60,
                       f"{count} generations")


def launched(script, **settings):
    """A job whose mpirun is that script; its reader's pipes are small."""
    mpirun = chosen.work / "mpirun"
    mpirun.write_text(f'#!/bin/sh\n{script}\n: >"$0.ended"\n')
    mpirun.chmod(0o755)
    (chosen.work / "mpirun.ended").unlink(missing_ok=True)
    return harness.subprocess.Popen([chosen.launcher, "true"], text=True, pipesize=4096, **settings,
                                    env={**os.environ, "PATH": f"{chosen.work}:{os.environ['PATH']}", "TMPDIR": str(temporary)})


def spoken(script, **settings):
    """The same once that has ended."""
    started = launched(script, **settings)
    harness.wait_until((chosen.work / "mpirun.ended").exists, 60, "the end of mpirun")
    return started


temporary = chosen.work / "temporary"
temporary.mkdir()

# A locale of the C library that has nothing but its numbers, with a comma.
(chosen.work / "comma").mkdir()
(chosen.work / "comma" / "LC_NUMERIC").write_bytes(
    struct.pack("=8I", 0x20031114, 6, 32, 34, 35, 36, 40, 44) + b",\0\0\0" + struct.pack("=2I", ord(","), 0) + b"ANSI_X3.4-1968\0")

# Lines come as they are written: this run has no end. Then nobody reads any more, neither output nor errors.
lease = 2.5
job, log = begun("left", "--set", f"distributed.lease_seconds={lease}", LOCPATH=str(chosen.work), LC_ALL="", LC_NUMERIC="comma")
for line in job.stdout:
    if "generation" in line:
        break
job.stdout.close()
wait_for_generations(job, log, 3)
wait_for_generations(job, log, log.read_text().count("\n") + 10)
if job.poll() is not None:
    harness.fail(f"a reader that leaves is no end of a run (exit code {job.returncode})")
# After the end of the run a worker that is stopped is waited for a lease, then the job is ended.
os.kill(harness.ranks_of(job, chosen.program)[1], signal.SIGSTOP)
os.kill(job.pid, signal.SIGTERM)
harness.wait_until(lambda: harness.state_of(log.parent) == "interrupted", 60, "the end of an interrupted run")
ended = time.monotonic()
try:
    job.wait(timeout=60)
except harness.subprocess.TimeoutExpired:
    harness.kill_group(job)
    harness.fail("a job that nobody listens to, one of whose workers is stopped, did not end within 60 s")
waited = time.monotonic() - ended
if job.returncode != 5 or waited < lease:
    harness.fail(f"a job that was interrupted must end with 5 once it has waited for a worker that is stopped "
                 f"(exit code {job.returncode} after {waited:.1f} s)")

# Errors go on to be read where nobody listens to them; the code is that of a program that does not say how it ended.
job = launched("for number in 1 2 3 4 5; do echo $number >&2; sleep 0.1; done", stderr=harness.subprocess.PIPE)
job.stderr.readline()
job.stderr.close()
if job.wait(timeout=60) != 1:
    harness.fail(f"a reader of errors that leaves is no end of a job (exit code {job.returncode})")

# A reader that is slow gets all, and where launch/mpi is killed as it waits for one it leaves no file.
said = [str(number) for number in range(1, 1501)]
for kills in (False, True):
    job = spoken("seq 1500 >&2", stderr=harness.subprocess.PIPE)
    time.sleep(0.8)
    if kills:
        os.kill(job.pid, signal.SIGKILL)
        harness.wait_until(lambda: not harness.status_files(job.pid, temporary), 10, "no file of a launcher that was killed")
    _, text = job.communicate(timeout=60)
    if text.split("\n")[:1500] != said:
        harness.fail(f"what is said for a slow reader ends with {text[-20:]}")
# What is left of a job, and might still speak, is not waited for.
job = spoken("sleep 60 5>&1 >/dev/null 2>&1 & echo $!", stdout=harness.subprocess.PIPE, stderr=harness.subprocess.DEVNULL)
text, _ = job.communicate(timeout=30)
os.kill(int(text), signal.SIGKILL)

# The job outlives its launcher, and leaves nothing.
job, log = begun("killed", "--quiet", "--set", "run.stop.generations=2000", TMPDIR=str(temporary))
wait_for_generations(job, log, 3)
left = harness.processes_below(job.pid)
if len(harness.status_files(job.pid, temporary)) < 2:
    harness.fail(f"the files of launch/mpi are not where they are looked for: {list(temporary.iterdir())}")
os.kill(job.pid, signal.SIGKILL)
harness.wait_until(lambda: harness.state_of(log.parent) == "done", 60, "the end of a run whose launcher was killed")
harness.wait_until(lambda: all(map(harness.ended, left)), 8, "the end of a job whose launcher was killed")
if harness.status_files(job.pid, temporary):
    harness.fail(f"a job whose launcher was killed must leave no file: {list(temporary.iterdir())}")
job.communicate()

# On a terminal rank 0 draws as a program alone does.
leader, terminal = os.openpty()
job = harness.subprocess.Popen([chosen.launcher, chosen.program, "evolve", experiment, "--set", f"run.directory={chosen.work / 'drawn'}"],
                               stdout=terminal, stderr=harness.subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, "TERM": "xterm"})
os.close(terminal)
drawn = b""
while b"\x1b" not in drawn and len(drawn) < 4096:
    drawn += os.read(leader, 4096)
# The tests themselves leave no file where they kill all of a job.
files = harness.status_files(job.pid, harness.tempfile.gettempdir())
harness.kill_group(job)
os.close(leader)
if b"\x1b" not in drawn:
    harness.fail(f"a job on a terminal must draw\n{drawn.decode()}")
if not files or any(file.exists() for file in files):
    harness.fail(f"a test that kills a job must remove its files: {files}")
print(f"runs outlived their readers and their launcher; a stopped worker was waited for {waited:.1f} s")
