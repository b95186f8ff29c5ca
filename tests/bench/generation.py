#!/usr/bin/env python3
"""Trains a transformer of characters, compares it with a 5-gram on the same split, and measures generation.

Usage: generation.py path/to/cambrian [--text FILE] [--epochs N] [--context N] [--tokens N] [--keep DIR]
       generation.py path/to/cambrian --backend vulkan [--tokens N]

Prints held-out bits a character of both models; whether greedy texts with and without a cache are equal, and the
tokens/s of both; and what a cached step takes at position 16 and at 1,024 for two networks of fresh weights.
The 5-gram is interpolated Kneser-Ney (1995) with the discounts n1 / (n1 + 2 n2) of each order; it sees the whole
text before a character, the network what its window has. With --backend nothing is trained: speeds of that backend
alone, of a network like the one above with fresh weights, too; steps are wall time then, medians of 24.
"""
import argparse
import collections
import json
import math
import pathlib
import resource
import subprocess
import sys
import tempfile

# Of a package that is there wherever python3 is.
TEXT = pathlib.Path(json.__file__).resolve().parents[1] / "pydoc_data" / "topics.py"


def run(program, *arguments):
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def ngram_bits(train, held, order=5):
    """Bits a character of `held`, which follows `train`."""
    top = order - 1
    counts = [collections.defaultdict(collections.Counter) for _ in range(order)]
    for i, character in enumerate(train):
        context = train[max(0, i - top):i]
        counts[len(context)][context][character] += 1
    for n in range(top, 0, -1):  # shorter contexts count in how many longer ones a character was seen
        for context, seen in counts[n].items():
            for character in seen:
                counts[n - 1][context[1:]][character] += 1
    discounts = []
    for of_order in counts:
        times = collections.Counter(count for seen in of_order.values() for count in seen.values())
        discounts.append(times[1] / (times[1] + 2 * times[2]) if times[1] else 0.5)
    totals = [{context: sum(seen.values()) for context, seen in of_order.items()} for of_order in counts]
    kinds = len(set(train) | set(held))
    text = train[-top:] + held
    bits = 0.0
    for i in range(top, len(text)):
        p = 1.0 / kinds
        for n in range(order):
            context = text[i - n:i]
            seen = counts[n].get(context)
            if not seen:
                break
            total = totals[n][context]
            p = (max(seen.get(text[i], 0) - discounts[n], 0.0) + discounts[n] * len(seen) * p) / total
        bits -= math.log2(p)
    return bits / len(held)


def train(program, folder, text, context, epochs):
    """The path of the best network, and its lowest loss on the last tenth in bits a character."""
    config = {
        "run": {"name": "text", "directory": str(folder / "text")},
        "task": {"type": "dataset", "loss": {"type": "cross_entropy"}, "split": {"validation": 0.1, "shuffle": False},
                 "source": {"type": "text", "file": str(text), "tokenizer": "characters", "context": context}},
        "network": {"build": {"type": "transformer", "vocabulary": 256, "features": 96, "heads": 4, "hidden": 256,
                              "blocks": 3, "rope_base": 10000, "window": context}},
        "training": {"epochs": epochs, "batch": 16, "learning_rate": 0.003, "clip_norm": 1.0,
                     "optimizer": {"type": "adamw", "weight_decay": 0.05}, "schedule": {"type": "one_cycle"}},
    }
    path = folder / "text.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    if not (folder / "text" / "best.cmb").exists():
        run(program, "train", path)
    with open(folder / "text" / "epochs.csv", encoding="ascii") as file:
        names = file.readline().strip().split(",")
        losses = [float(line.split(",")[names.index("validation_loss")]) for line in file]
    return folder / "text" / "best.cmb", min(losses) / math.log(2)


def generated(program, network, prompt, tokens, *more):
    """The text, and the speed."""
    lines = run(program, "generate", network, "--prompt", prompt, "--max-tokens", tokens, "--json", "--speed",
                *more).splitlines()
    return json.loads(lines[0])["text"], json.loads(lines[-1])["speed"]


def transformer(features, heads, kv_heads, hidden, blocks):
    """A network section whose widths are all written."""
    layers = [{"type": "embedding", "vocabulary": 256, "features": features}]
    for _ in range(blocks):
        attention = {"type": "multi_head_attention", "heads": heads, "kv_heads": kv_heads, "rope_base": 10000,
                     "window": 4096, "bias": False}
        for layer in (attention, {"type": "swiglu", "hidden": hidden, "bias": False}):
            layers.append({"type": "residual", "layers": [{"type": "rms_norm"}, layer]})
    return {"input": [1], "layers": layers + [{"type": "rms_norm"}, {"type": "dense", "out": 256}]}


def processor_seconds(program, network, prompt, tokens):
    """The least of three runs on one thread: what else the machine does costs time, but no processor time of ours."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(program, "generate", network, "--tokenizer", "bytes", "--prompt", "a" * prompt, "--max-tokens", tokens,
            "--set", "engine.threads=1")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def step_times(program, folder, kv_heads):
    """Milliseconds of processor time of a step: at positions 1 to 31, and at 1,026 to 1,056."""
    path = folder / f"{kv_heads}.json"
    path.write_text(json.dumps({"network": transformer(512, 8, kv_heads, 1024, 4)}), encoding="utf-8")
    run(program, "convert", path, path.with_suffix(".cmb"))
    times = []
    for prompt in (1, 1026):
        one, many = (processor_seconds(program, path.with_suffix(".cmb"), prompt, tokens) for tokens in (1, 31))
        times.append(1e3 * (many - one) / 30)
    return times


def backend_steps(program, folder, kv_heads, backend):
    """Milliseconds of a step of a backend: at positions 8 to 31, and at 1,032 to 1,055."""
    path = folder / f"{kv_heads}.json"
    path.write_text(json.dumps({"network": transformer(512, 8, kv_heads, 1024, 4)}), encoding="utf-8")
    run(program, "convert", path, path.with_suffix(".cmb"))
    times = []
    for prompt in (1, 1025):
        _, speed = generated(program, path.with_suffix(".cmb"), "a" * prompt, 31, "--tokenizer", "bytes", *backend)
        steps = sorted(seconds for position, seconds in speed["steps"] if position >= prompt + 7)
        times.append(1e3 * steps[len(steps) // 2])
    return times


def speeds_of_backend(options, folder):
    backend = ["--set", f"engine.backend={options.backend}"]
    path = folder / "text.json"
    path.write_text(json.dumps({"network": transformer(96, 4, 4, 256, 3)}), encoding="utf-8")
    run(options.program, "convert", path, path.with_suffix(".cmb"))
    print_greedy(options, path.with_suffix(".cmb"), "a" * 40, ["--tokenizer", "bytes", *backend])
    for kv_heads in (2, 8):
        print_steps(kv_heads, *backend_steps(options.program, folder, kv_heads, backend))


def print_greedy(options, network, prompt, more):
    greedy = [generated(options.program, network, prompt, options.tokens, "--temperature", 0, *more, *cache)
              for cache in ([], ["--no-cache"])]
    print(f"greedy texts of {options.tokens} tokens are {'equal' if greedy[0][0] == greedy[1][0] else 'DIFFERENT'}")
    for name, (_, speed) in zip(("with", "without"), greedy):
        steps = sorted(seconds for _, seconds in speed["steps"])
        print(f"{name} a cache: {speed['tokens_per_second']:.1f} tokens/s, {1 / steps[len(steps) // 2]:.1f} at the median "
              "step (the first steps of a program compile kernels)", flush=True)


def print_steps(kv_heads, early, late):
    print(f"4 blocks of 512, 8 heads, {kv_heads} key heads: a step at 16 {early:.3f} ms, at 1,024 {late:.3f} ms: "
          f"{late / early:.2f} times", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--text", type=pathlib.Path, default=TEXT)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for networks; one that is there is not trained again")
    parser.add_argument("--backend", help="measure the speed of this one alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.backend:
            speeds_of_backend(options, folder)
            return

        text = options.text.read_text(encoding="utf-8")
        rows = (len(text) - 1) // options.context
        split = (rows - rows // 10) * options.context + 1
        held = text[split:rows * options.context + 1]
        print(f"{options.text}: {len(text)} characters, {len(held)} held out", flush=True)
        print(f"5-gram: {ngram_bits(text[:split], held):.4f} bits a character", flush=True)
        network, bits = train(options.program, folder, options.text, options.context, options.epochs)
        print(f"network, {options.epochs} epochs: {bits:.4f} bits a character", flush=True)

        print_greedy(options, network, text[:40], [])
        for kv_heads in (2, 8):
            print_steps(kv_heads, *step_times(options.program, folder, kv_heads))


if __name__ == "__main__":
    main()
