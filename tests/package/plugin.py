#!/usr/bin/env python3
"""Evolves with the example plug-in, built against an installed Cambrian, on one and on two ranks: the same bytes.

  plugin.py STAGE PLUGIN WORK      the prefix of the installation, the shared object, a folder that is made anew
"""
import os
import pathlib
import shutil
import subprocess
import sys


def main():
    stage, plugin, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    program, configs = stage / "bin/cambrian", stage / "share/cambrian/configs"
    results = []
    for ranks in (1, 2):
        launcher = [] if ranks == 1 else [stage / "share/cambrian/launch/mpi", "-n", "2"]
        directory = work / f"ranks-{ranks}"
        command = [*launcher, program, "evolve", configs / "plugins/waves.json", "--quiet",
                   "--set", f'engine.plugins=["{plugin}"]', "--set", f"run.directory={directory}",
                   "--set", "mutation.wave_insert_rate=0.5", "--set", "run.stop.generations=8"]
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        subprocess.run([str(word) for word in command], check=True, env=environment, timeout=300)
        results.append([(directory / name).read_bytes() for name in ("generations.csv", "best.cmb", "individuals.cmb")])
    if results[0] != results[1]:
        sys.exit("one rank and two write other bytes")
    told = subprocess.run([str(program), "inspect", str(work / "ranks-2/best.cmb"), "--plugin", str(plugin)], check=True, capture_output=True, text=True)
    if "wave" not in told.stdout:
        sys.exit(f"no wave in the network: {told.stdout}")
    # A rank with another plug-in of that name.
    other = work / "other.so"
    other.write_bytes(plugin.read_bytes() + b"more")
    script = work / "rank"
    script.write_text(f'#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then plugin={other}; else plugin={plugin}; fi\n'
                      f'exec "$@" --set "engine.plugins=[\\"$plugin\\"]"\n', encoding="utf-8")
    script.chmod(0o755)
    ended = subprocess.run([str(stage / "share/cambrian/launch/mpi"), "-n", "2", str(script), str(program), "evolve",
                            str(configs / "plugins/waves.json"), "--quiet", "--set", f"run.directory={work / 'differ'}",
                            "--set", "run.stop.generations=3"], capture_output=True, text=True, timeout=300, check=False,
                           env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    if "plug-ins differ" not in ended.stderr + ended.stdout:
        sys.exit(f"a rank with another plug-in was not refused: {ended.stdout}{ended.stderr}")
    print("one rank and two write the same bytes")


if __name__ == "__main__":
    main()
