#!/usr/bin/env python3
"""Holds `cambrian tokenize` to plain implementations of what it does, over a text of 1 MB in many scripts.

Usage: reference.py CAMBRIAN [--bytes N] [--all]

Training: counts all pairs anew for each merge. Encoding: looks through all pairs of a word for each merge. Words: the
expressions of tokenizer.json, run by Python over a text whose characters were replaced by one for each class.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
SPACES = set("\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {chr(c) for c in range(0x2000, 0x200B)}
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS_4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s|")
ENDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "GPT-4": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + ENDS,
    "Qwen": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + ENDS,
    "GPT-4o": WORDS_4O % (CONTRACTIONS + "?", CONTRACTIONS + "?") + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + ENDS,
    "Tekken": WORDS_4O % ("", "") + r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + ENDS,
}
# What stands for characters of a class; letters of contractions, ends of lines, ' and / stand for themselves.
KEPT = {"lower": "strevmld\u017f", "upper": "STREVMLD"}
CLASS = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": "o", "Lo": "o", "M": "^", "N": "0", "space": "\t", "other": "."}
MEMBERS = {
    r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}": "Ao^" + KEPT["upper"],
    r"\p{Ll}\p{Lm}\p{Lo}\p{M}": "ao^" + KEPT["lower"],
    r"\p{L}": "Aao" + KEPT["lower"] + KEPT["upper"],
    r"\p{N}": "0",
}


def stand_in(character):
    if character in "\r\n'/ " or character in KEPT["lower"] or character in KEPT["upper"]:
        return character
    if character in SPACES:
        return CLASS["space"]
    category = unicodedata.category(character)
    return CLASS.get(category) or CLASS.get(category[0]) or CLASS["other"]


def translated(pattern):
    """The pattern over stand-ins; \\s and \\S mean the same of them."""
    for members, characters in MEMBERS.items():
        pattern = re.sub(r"(\[[^]]*)?" + re.escape(members),
                         lambda found, c=characters: (found[1] + c if found[1] else "[" + c + "]"), pattern)
    return re.compile(pattern.replace("^^", "\\^^"))


def words(text, pattern):
    stand_ins = "".join(map(stand_in, text))
    return [text[found.start():found.end()] for found in pattern.finditer(stand_ins)]


def alphabet():
    """GPT-2's characters for bytes, as the paper's program makes them."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return {**{byte: chr(byte) for byte in kept}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def merged(symbols, pair, joined):
    result, at = [], 0
    while at < len(symbols):
        if tuple(symbols[at:at + 2]) == pair:
            result.append(joined)
            at += 2
        else:
            result.append(symbols[at])
            at += 1
    return result


def train(text, size):
    counted = collections.Counter(words(text, translated(PATTERNS["GPT-2"])))
    characters = alphabet()
    names = [characters[byte] for byte in range(256)]
    lists = [([*word.encode()], count) for word, count in counted.items()]
    merges = []
    while len(names) < size:
        counts = collections.Counter()
        for symbols, count in lists:
            for pair in zip(symbols, symbols[1:]):
                counts[pair] += count
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        name = names[best[0]] + names[best[1]]
        merges.append([names[best[0]], names[best[1]]])
        if name not in names:
            names.append(name)
        joined = names.index(name)
        lists = [(merged(symbols, best, joined), count) for symbols, count in lists]
    return names, merges


def encode(text, pattern, tokenizer):
    ids = tokenizer["model"]["vocab"]
    ranks = {tuple(pair): rank for rank, pair in enumerate(tokenizer["model"]["merges"])}
    characters = alphabet()
    known, result = {}, []
    for word in words(text, pattern):
        if word not in known:
            symbols = [characters[byte] for byte in word.encode()]
            while True:
                pairs = [pair for pair in zip(symbols, symbols[1:]) if pair in ranks]
                if not pairs:
                    break
                best = min(pairs, key=ranks.get)
                symbols = merged(symbols, best, best[0] + best[1])
            known[word] = [ids[symbol] for symbol in symbols]
        result += known[word]
    return result


def corpus(size):
    """Sentences of the sample, their words in other orders and spacings, and characters of all scripts at random."""
    with open(os.path.join(HERE, "sample.txt"), encoding="utf-8", newline="") as file:
        sample = file.read()
    chance = random.Random(1)
    pieces = re.findall(r"\S+", sample)
    gaps = [" "] * 12 + ["", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2003 ", "'s ", "'LL ", "! ", "/\n"]
    assigned = [c for c in map(chr, [*range(0x20, 0x3400), *range(0xA000, 0xA960), *range(0xF900, 0x10000), *range(0x10000, 0x11000),
                                     *range(0x1D400, 0x1D800), *range(0x1F000, 0x1FB00)]) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
    parts, length = [sample], len(sample.encode())
    while length < size:
        if chance.random() < 0.7:
            part = chance.choice(pieces)
        elif chance.random() < 0.5:
            part = "".join(chance.choice(assigned) for _ in range(chance.randint(1, 8)))
        else:
            start = chance.randrange(len(assigned) - 64)
            part = "".join(assigned[start + chance.randrange(64)] for _ in range(chance.randint(1, 12)))
        part += chance.choice(gaps)
        parts.append(part)
        length += len(part.encode())
    return sample, "".join(parts)


class Cambrian:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    def run(self, *arguments):
        return subprocess.run([self.program, "tokenize", *arguments], check=True, capture_output=True).stdout

    def encode(self, text, tokenizer):
        path = self.file("tokenizer.json", json.dumps(tokenizer))
        return [int(word) for word in self.run(self.file("text", text), "--tokenizer", path).split()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cambrian")
    parser.add_argument("--bytes", type=int, default=1 << 20)
    parser.add_argument("--all", action="store_true", help="All of the text by all expressions, not a quarter by those of few new rules")
    options = parser.parse_args()
    sample, whole = corpus(options.bytes)
    failures = 0

    def check(name, ours, theirs):
        nonlocal failures
        place = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
        equal = ours == theirs
        failures += not equal
        print(f"{name}: {len(theirs)} of the reference, " + ("all equal" if equal else f"other from number {place} on"))

    with tempfile.TemporaryDirectory() as folder:
        cambrian = Cambrian(options.cambrian, folder)
        trained = os.path.join(folder, "trained.json")
        cambrian.run("--train", cambrian.file("sample", sample), "--vocabulary", "400", "-o", trained)
        with open(trained, encoding="utf-8") as file:
            small = json.load(file)
        names, merges = train(sample, 399)
        check("merges learnt", small["model"]["merges"], merges)
        check("tokens learnt", list(small["model"]["vocab"]), names)

        cambrian.run("--train", cambrian.file("corpus", whole), "--vocabulary", "8000", "-o", trained)
        with open(trained, encoding="utf-8") as file:
            tokenizer = json.load(file)
        for name, pattern in PATTERNS.items():
            split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
            byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
            tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, byte_level]}
            text = whole if options.all or name in ("GPT-2", "GPT-4o") else whole[:len(whole) // 4]
            ours = cambrian.encode(text, tokenizer)
            check(f"ids by the words of {name}, {len(text.encode())} bytes", ours, encode(text, translated(pattern), tokenizer))
            back = cambrian.run(cambrian.file("ids", " ".join(map(str, ours))), "--decode", "--tokenizer", os.path.join(folder, "tokenizer.json"))
            check("bytes after decoding", [back], [text.encode()])
        tokenizer["normalizer"] = {"type": "NFC"}
        check("ids of NFC", cambrian.encode(text, tokenizer),
              encode(unicodedata.normalize("NFC", text), translated(PATTERNS["Tekken"]), tokenizer))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
