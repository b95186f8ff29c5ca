#!/usr/bin/env python3
"""Prints the speed of the engine on this processor as a table, each line beside what it is held to.

Usage: lines.py path/to/cambrian_bench [rounds]

Needs PyTorch (Debian: python3-torch); OpenBLAS is linked into the program. Both sides of a line use as
many threads and take turns; the shortest time of all rounds counts. The GPU's table is printed by
cambrian_vulkan_bench.
"""
import platform
import sys

import beside
import conv_torch
import gemm_openblas
import rows_torch
import training_torch

ROWS = ("rms_norm", "softmax", "layer_norm", "silu_gate", "rope", "add")


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0]}, {len(names)} processors" if names else platform.processor()


def best_of(program, names, repetitions=8):
    """Best milliseconds, and best counter of steps a second, of every benchmark of these names."""
    times, steps = {}, {}
    for entry in beside.google_benchmark(program, f"({names})/", f"--benchmark_repetitions={repetitions}",
                                         "--benchmark_enable_random_interleaving=true"):
        key = entry["run_name"].replace("/real_time", "")
        beside.keep_shortest(times, key, entry["real_time"])
        steps[key] = max(steps.get(key, 0.0), entry.get("steps", 0.0))
    return times, steps


def line(what, own, other, against, aim):
    ratio = other / own
    met = "" if aim is None else ("yes" if ratio >= aim else "no")
    goal = "" if aim is None else f"{aim:.2f}"
    print(f"| {what} | {own:.3f} ms | {other:.3f} ms, {against} | {ratio:.2f} | {goal} | {met} |", flush=True)


def products(program, rounds):
    times, cores = {}, []
    for _ in range(rounds):
        for core in gemm_openblas.CORES:
            gemm_openblas.measure(program, core, times, cores)
    for shape in dict.fromkeys(shape for side, shape in times if side == "gemm_engine"):
        best = min(cores, key=lambda core: times[core, shape])
        aim = 0.9 if shape.startswith("m:1024/n:1024/k:1024/") else None
        line(f"product {shape}", times["gemm_engine", shape] / 1e3, times[best, shape] / 1e3,
             f"OpenBLAS as {best}", aim)


def population(program):
    times, _ = best_of(program, "population_mlp|population_mlp_by_hand")
    for threads in (1, 2):
        line(f"population MLP 256 x 784-128-10, batch 64, {beside.threads_text(threads)}",
             times[f"population_mlp/{threads}"], times[f"population_mlp_by_hand/{threads}"],
             "a loop over cblas_sgemm", 0.85)


def against_torch(title, module, program, rounds, aims):
    mine, other = beside.in_turns(module.ours, module.theirs, program, rounds)
    for key in mine:
        if key in other:
            what = " ".join([title, *map(str, key[:-1])]).strip()
            line(f"{what}, {beside.threads_text(key[-1])}", mine[key], other[key], "PyTorch", aims(key))


def rollouts(program):
    times, steps = best_of(program, "cart_pole_rollout")
    for key in times:
        threads = key.rsplit("/", 1)[1]
        aim = 60.0 if threads == "2" else None
        own = steps[key] / 1e6
        met = "" if aim is None else ("yes" if own >= aim else "no")
        print(f"| cart-pole 10,000 x 4-16-2 x 500 steps, {beside.threads_text(threads)} | {own:.1f} M steps/s | | | "
              f"{'' if aim is None else '60 M'} | {met} |", flush=True)


def default_evolution(program):
    """What users run, variation included: one core's steps of a second after so many generations."""
    _, steps = best_of(program, "default_cart_pole", 2)
    for key in steps:
        generations = key.split("generations:")[1].split("/")[0]
        own = steps[key] / 1e6
        print(f"| cart-pole at default mutation rates, 10,000 networks, 20 generations from {generations} on, 1 thread "
              f"| {own:.1f} M steps/s | | | 30 M | {'yes' if own >= 30.0 else 'no'} |", flush=True)


def meshes(program):
    times, steps = best_of(program, "mesh_ticks|chain_steps")
    for key in times:
        if not key.startswith("mesh_ticks/"):
            continue
        _, population, threads = key.split("/")
        chain = key.replace("mesh_ticks", "chain_steps")
        line(f"20 ticks of a mesh of 64 dense slots of 32, population {population}, {beside.threads_text(threads)}: "
             f"{steps[key] / 1e3:.1f} k ticks/s", times[key], times[chain], "the same as a chain", None)


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    print(f"{processor()}, PyTorch {rows_torch.torch.__version__}\n")
    print("| what | Cambrian | beside | ratio | aim | met |\n|---|---|---|---|---|---|")
    products(program, rounds)
    population(program)
    against_torch("1024 x 1024", rows_torch, program, rounds, lambda key: 1.0 if key[0] in ROWS else None)
    against_torch("training step of an MLP 784-128-10, batch 128, AdamW", training_torch, program, rounds,
                  lambda key: 0.8)
    against_torch("", conv_torch, program, rounds, lambda key: None)
    rollouts(program)
    default_evolution(program)
    meshes(program)


if __name__ == "__main__":
    main()
