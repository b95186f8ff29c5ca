#!/usr/bin/env python3
"""Prints what two builds of cambrian_bench take for the benchmarks that both have, slowest change first.

Usage: versions.py OLD NEW [ROUNDS [FILTER]]

The builds take turns; the shortest time of all rounds counts. A ratio above 1.03 is a change for the worse to look at.
"""
import sys

import beside


def main():
    old, new = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    pattern = sys.argv[4] if len(sys.argv) > 4 else "."
    times = {old: {}, new: {}}
    for _ in range(rounds):
        for program in (old, new):
            for entry in beside.google_benchmark(program, pattern, "--benchmark_min_time=0.1"):
                beside.keep_shortest(times[program], entry["run_name"], entry["real_time"])
    common = [name for name in times[old] if name in times[new]]
    for name in sorted(common, key=lambda name: times[old][name] / times[new][name]):
        print(f"{times[new][name] / times[old][name]:6.3f}  {times[old][name]:14.4f} -> {times[new][name]:14.4f}  {name}")
    for program, other in ((old, new), (new, old)):
        alone = [name for name in times[program] if name not in times[other]]
        if alone:
            print(f"only in {program}: {', '.join(alone)}")


main()
