#!/usr/bin/env python3
"""Holds `cambrian tokenize` to the original implementation on random tokenizers with all parts that are known, and short texts.

Usage: random_tokenizers.py CAMBRIAN [--count N] [--seed S]     CAMBRIAN_TOKENIZERS is as in others.py; exit status 77 without
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from reference import alphabet

MARK = "\u2581"
CHARACTERS = [*"ab1 's\u00e9_\n", "e", "\u0301", MARK, "\u4e2d"]
PIECES = ["a", "b", "ab", "1", "12", " ", "  ", "\n", "\n\n", "\u00e9", "e\u0301", "<s>", "x", "_", "'s", "?", "\u4e2d", "aab", "abab"]
ADDED = ["<s>", "ab", "<s><s>", " x", "x", "\u00e9", "_b", "\n\n", "e\u0301"]
ENCODE = """
const {Tokenizer} = require(process.argv[2]);
const cases = JSON.parse(require('fs').readFileSync(process.argv[3]));
(async () => {
    const all = [];
    for (const {tokenizer, texts} of cases) {
        const made = Tokenizer.fromString(JSON.stringify(tokenizer));
        const lists = [];
        for (const text of texts) lists.push((await made.encode(text)).getIds());
        all.push(lists);
    }
    console.log(JSON.stringify(all));
})();
"""


def normalizers(chance):
    known = [{"type": "NFC"}, {"type": "Prepend", "prepend": MARK}, {"type": "Replace", "pattern": {"String": " "}, "content": MARK},
             {"type": "Replace", "pattern": {"String": "ab"}, "content": "b"}]
    return [chance.choice(known) for _ in range(chance.choice([0, 0, 1, 2, 3]))]


def pre_tokenizers(chance, bytes_, moved):
    schemes = ["never", "always"] if moved else ["first", "never", "always"]  # "first" is refused where the beginning moves.
    behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
    steps = []
    for _ in range(chance.randint(0, 2)):
        flag = chance.random() < 0.5
        steps.append(chance.choice([
            {"type": "Split", "pattern": {"String": chance.choice(" a1")}, "behavior": chance.choice(behaviors), "invert": flag},
            {"type": "Digits", "individual_digits": flag},
            {"type": "Metaspace", "replacement": MARK, "prepend_scheme": chance.choice(schemes), "split": flag}]))
    if bytes_:
        steps.append({"type": "ByteLevel", "add_prefix_space": chance.random() < 0.5, "trim_offsets": True,
                      "use_regex": chance.random() < 0.5})
    return steps


def model(chance, bytes_):
    if bytes_:
        written = alphabet()
        vocabulary = {written[byte]: byte for byte in range(256)}
        symbols = [written[byte] for byte in "".join(CHARACTERS).encode()]
    else:
        vocabulary = {character: i for i, character in enumerate(CHARACTERS)}
        symbols = list(CHARACTERS)
    vocabulary["<unk>"] = len(vocabulary)
    merges = []
    for _ in range(chance.randint(0, 25)):
        pair = [chance.choice(symbols), chance.choice(symbols)]
        joined = "".join(pair)
        if len(joined) < 7:
            vocabulary.setdefault(joined, len(vocabulary))
            merges.append(pair)
            symbols.append(joined)
    fallback = not bytes_ and chance.random() < 0.3
    if fallback:
        for byte in range(256):
            vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": chance.random() < 0.5, "byte_fallback": fallback, "ignore_merges": chance.random() < 0.5,
            "vocab": vocabulary, "merges": merges}


def added_tokens(chance, vocabulary):
    tokens, free = [], len(vocabulary)
    for content in chance.sample(ADDED, chance.randint(0, 4)):
        number = vocabulary.get(content, free)
        free += number == free
        flags = {name: chance.random() < 0.5 for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        tokens.append({"id": number, "content": content, **flags})
    return sorted(tokens, key=lambda token: token["id"])


def tokenizer(chance):
    bytes_ = chance.random() < 0.4
    made = model(chance, bytes_)
    added = added_tokens(chance, made["vocab"])
    before = normalizers(chance)
    moved = any(step["type"] == "Prepend" or step.get("content") == "b" for step in before)
    steps = pre_tokenizers(chance, bytes_, moved)
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers": before} if before else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps} if steps else None,
            "post_processor": None, "decoder": {"type": "Fuse"}, "model": made}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cambrian")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    original = os.path.join(os.environ.get("CAMBRIAN_TOKENIZERS", ""), "node_modules", "@anush008", "tokenizers")
    if not os.path.isdir(original) or not shutil.which("node"):
        print("skipped: CAMBRIAN_TOKENIZERS names no folder with the packages (see others.py), or there is no node")
        return 77
    chance = random.Random(options.seed)
    cases = [{"tokenizer": tokenizer(chance), "texts": ["".join(chance.choice(PIECES) for _ in range(chance.randint(0, 14))) for _ in range(6)]}
             for _ in range(options.count)]
    others = 0
    with tempfile.TemporaryDirectory() as folder:
        def path(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
                file.write(text)
            return file.name

        theirs = json.loads(subprocess.run(["node", path("encode.js", ENCODE), original, path("cases.json", json.dumps(cases))],
                                           check=True, capture_output=True).stdout)
        for case, lists in zip(cases, theirs):
            file = path("tokenizer.json", json.dumps(case["tokenizer"]))
            for text, expected in zip(case["texts"], lists):
                result = subprocess.run([options.cambrian, "tokenize", path("text", text), "--tokenizer", file], capture_output=True)
                ours = [int(word) for word in result.stdout.split()] if result.returncode == 0 else result.stderr.decode()
                if ours != expected:
                    others += 1
                    print(f"{text!r}: {ours}, not {expected}, by {json.dumps(case['tokenizer'])}")
    print(f"{6 * options.count} texts by {options.count} tokenizers: {others} with other ids")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
