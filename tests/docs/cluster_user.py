"""The path of a user with a cluster: a run on two hosts, killed as a whole, told of, resumed on other ranks, and shown.

The program and the launcher are those of an installation. The result has the bytes of a run that nothing disturbed.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mpi"))
import harness  # noqa: E402
import virtual_hosts  # noqa: E402

chosen = harness.options(__doc__, generations=400)
directory = chosen.work / "run"


def ask(*arguments):
    return subprocess.run([chosen.program, *map(str, arguments)], capture_output=True, text=True, check=False)


def told(expect, *arguments):
    """What a command says."""
    done = ask(*arguments)
    if done.returncode != expect:
        harness.fail(f"{arguments} ended with {done.returncode} instead of {expect}\n{done.stdout}{done.stderr}")
    return done.stdout


def begin(hosts, ranks, *arguments):
    command = [chosen.launcher, *hosts.flags, "-n", str(ranks), chosen.program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


with virtual_hosts.VirtualHosts(2, chosen.work / "hosts") as hosts:
    experiment, expected, _ = harness.unbroken_cart_pole(chosen, "cluster", chosen.generations)
    job = begin(hosts, 4, "evolve", experiment, "--set", f"run.directory={directory}")
    log = directory / "generations.csv"
    try:
        harness.wait_until(lambda: (log.exists() and log.read_text().count("\n") > 20) or job.poll() is not None, 60,
                           "twenty generations on two hosts")
        if job.poll() is not None:
            harness.fail(f"the run had ended before it could be killed\n{job.communicate()[0]}")
    finally:
        if job.poll() is None:
            harness.kill_group(job)

    # The launcher's daemons are no children of it: they learn of its death and then end their ranks.
    harness.wait_until(lambda: ask("status", directory).returncode == 1, 30, "the end of the ranks of a killed launcher")
    said = told(1, "status", directory)
    if "ended without a word" not in said or "resume" not in said:
        harness.fail(f"a run that was killed must be told so, with the way on\n{said}")
    harness.finish(begin(hosts, 3, "resume", directory), "resumed on three ranks of two hosts")
harness.same(expected, directory, "killed on four ranks of two hosts, resumed on three")
if "done" not in told(0, "status", directory):
    harness.fail("the run is done")
told(0, "report", directory)
page = (directory / "report.html").read_text(encoding="utf-8")
if not re.search(r"<(svg|canvas)\b", page) or re.search(r"(src|href)\s*=\s*[\"']?https?:|url\(\s*[\"']?https?:", page):
    harness.fail("the report draws its curves itself and asks no other host")
print(f"two hosts, killed, resumed and reported ({len(page) >> 10} KB): the same bytes")
