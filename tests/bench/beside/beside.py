"""What the scripts that set the engine beside another system share.

Times are kept by key: a tuple whose last entry is the count of threads.
"""
import json
import subprocess
import time


def keep_shortest(times, key, value):
    times[key] = min(times.get(key, float("inf")), value)


def shortest(work, seconds=0.4, calls=1):
    """Shortest time of a call, in milliseconds; `calls` of them are timed as one."""
    work()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e3


def google_benchmark(program, names, *options):
    """The measured iterations of the benchmarks whose name matches."""
    text = subprocess.run(
        [program, f"--benchmark_filter=^{names}", "--benchmark_format=json", *options],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return [entry for entry in json.loads(text)["benchmarks"] if entry["run_type"] == "iteration"]


def in_turns(ours, theirs, program, rounds):
    """Times of both sides, which take turns."""
    mine, other = {}, {}
    for _ in range(rounds):
        ours(program, mine)
        theirs(other)
    return mine, other


def threads_text(count):
    return f"{count} thread" + ("s" if int(count) > 1 else "")


def print_table(title, mine, other):
    print(f"{title:32}{'cambrian ms':>12}{'torch ms':>12}{'torch / cambrian':>18}")
    for key, value in sorted(mine.items()):
        label = ", ".join(filter(None, (" ".join(map(str, key[:-1])), threads_text(key[-1]))))
        if key in other:
            print(f"{label:32}{value:12.3f}{other[key]:12.3f}{other[key] / value:18.2f}")
        else:
            print(f"{label:32}{value:12.3f}")
