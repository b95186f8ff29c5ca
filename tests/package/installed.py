#!/usr/bin/env python3
"""What an installation brings besides the library: commands complete in bash, man has a page of every command.

Usage: installed.py STAGE    or    installed.py --deb BUILD STAGE (makes the Debian package and unpacks it there)
"""
import json
import pathlib
import shutil
import subprocess
import sys


def fail(text):
    sys.exit(f"installed: {text}")


def output(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def completions(script, *words):
    """What bash offers for the last word."""
    text = f'source "{script}"; COMP_WORDS=({" ".join(map(repr, words))}); COMP_CWORD={len(words) - 1}; ' \
           'compopt() { :; }; _cambrian; printf "%s\\n" "${COMPREPLY[@]}"'
    return output("bash", "-c", text).split()


def check(prefix):
    program = prefix / "bin" / "cambrian"
    version = output(program, "--version").strip()
    commands = [row["name"] for row in json.loads(output(program, "registry", "--json"))["commands"]]
    script = prefix / "share" / "bash-completion" / "completions" / "cambrian"
    if completions(script, "cambrian", "ev") != ["evolve", "evaluate"]:
        fail(f"bash completes 'ev' to {completions(script, 'cambrian', 'ev')}")
    if "--require-solved" not in completions(script, "cambrian", "evolve", "--re"):
        fail("bash does not complete options of evolve")
    page = (prefix / "share" / "man" / "man1" / "cambrian.1").read_text()
    for command in commands:
        if f".SS cambrian {command}\n" not in page:
            fail(f"the manual page has no section for {command}")
    if shutil.which("man"):
        warnings = subprocess.run(["man", "--warnings", "-l", "-P", "cat", str(prefix / "share/man/man1/cambrian.1")],
                                  capture_output=True, text=True, check=False, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
        if warnings.returncode != 0 or warnings.stderr.strip():
            fail(f"man says of the page: {warnings.stderr}")
    for name in ("launch/mpi", "launch/slurm.sbatch", "configs/quickstart.json", "configs/schema.json",
                 "configs/python/cambrian.py", "configs/python/cambrian_read.py"):
        if not (prefix / "share" / "cambrian" / name).exists():
            fail(f"share/cambrian/{name} is missing")
    print(f"{version}: {len(commands)} commands complete and have their section")


def unpack_package(build, stage):
    if not shutil.which("dpkg-shlibdeps"):
        print("skipped: dpkg-shlibdeps is not there (package dpkg-dev)", file=sys.stderr)
        sys.exit(77)
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    output("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", stage / "made", cwd=stage)
    packages = list((stage / "made").glob("*.deb"))
    if len(packages) != 1:
        fail(f"cpack made {packages}")
    output("dpkg", "-x", packages[0], stage / "root")
    depends = output("dpkg-deb", "-f", packages[0], "Depends")
    if "libc6" not in depends:
        fail(f"the package depends on {depends!r} alone")
    print(f"{packages[0].name}: {packages[0].stat().st_size >> 20} MiB, depends on {depends.strip()}")
    return stage / "root" / "usr"


if sys.argv[1] == "--deb":
    check(unpack_package(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
else:
    check(pathlib.Path(sys.argv[1]))
