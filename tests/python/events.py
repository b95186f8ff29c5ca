#!/usr/bin/env python3
"""Events for TensorBoard, read as their format has them, beside the tables they are of. Usage: events.py PROGRAM"""
import csv
import math
import pathlib
import struct
import subprocess
import time
import unittest

import support
from support import PROGRAM, ROOT, FolderTest, cambrian, settings

NAME = "events.out.tfevents.0.cambrian"
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """Number and value of each field of a message of protocol buffers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        else:
            length = {1: 8, 5: 4}.get(kind) or varint()
            yield key >> 3, data[at:at + length]
            at += length


def events_of(directory):
    """(step, scalars) of each event; every checksum is checked, and that no step has a scalar twice."""
    data = (pathlib.Path(directory) / NAME).read_bytes()
    events, at, first, seen = [], 0, True, set()
    while at < len(data):
        length, of_length = struct.unpack_from("<QI", data, at)
        assert masked_crc(data[at:at + 8]) == of_length, f"length at {at}"
        content = data[at + 12:at + 12 + length]
        assert masked_crc(content) == struct.unpack_from("<I", data, at + 12 + length)[0], f"content at {at}"
        at += 16 + length
        event = dict(fields(content))
        assert 1.7e9 < struct.unpack("<d", event[1])[0] < time.time() + 1
        if first:
            assert event[3] == b"brain.Event:2"
            first = False
            continue
        scalars = {}
        for number, value in fields(event[5]):
            parts = dict(fields(value))
            tag = parts[1].decode()
            assert number == 1 and (event[2], tag) not in seen, (event[2], tag)
            seen.add((event[2], tag))
            scalars[tag] = struct.unpack("<f", parts[2])[0]
        events.append((event[2], scalars))
    return events


def single(text):
    """The nearest number of 32 bits."""
    return struct.unpack("<f", struct.pack("<f", float(text)))[0] if math.isfinite(float(text)) else float(text)


def scalars_of(table, several=False):
    """What the events of a table must say: by step and name."""
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    steps = next(iter(rows[0])) if rows else ""
    return {(int(row[steps]), f"{name}/{row['individual']}" if several else name): single(cell)
            for row in rows for name, cell in row.items() if name not in (steps, "individual") and cell}


class Events(FolderTest):
    def same(self, directory, table="generations.csv", several=False):
        events = {(step, tag): value for step, scalars in events_of(directory) for tag, value in scalars.items()}
        self.assertEqual(events, scalars_of(pathlib.Path(directory) / table, several))
        return events

    def test_generations(self):
        keys = {"run__stop__generations": 12, "run__stop__solved": "null", "population__size": 16,
                "task__validation__every": 5}
        told = self.evolve("told", "cart_pole.json", **{**keys, "run__stop__fitness": "null", "task__steps": 20},
                           log__tensorboard="true")
        plain = self.evolve("plain", "cart_pole.json", **{**keys, "run__stop__fitness": "null", "task__steps": 20})
        events = self.same(told)
        self.assertIn((11, "validated"), events)  # Added to the last line at the end.
        self.assertFalse((plain / NAME).exists())
        for name in ("generations.csv", "best.cmb", "individuals.cmb"):
            self.assertEqual((told / name).read_bytes(), (plain / name).read_bytes(), name)

    def test_a_run_that_goes_on(self):
        keys = {"run__stop__solved": "null", "population__size": 16, "run__stop__generations": 4}
        run = self.evolve("longer", "xor.json", **keys)
        self.assertFalse((run / NAME).exists())
        # Events that begin late have all generations, and the line that was the last one is corrected.
        cambrian("resume", run, "-q", *settings(run__stop__generations=7, log__tensorboard="true"))
        self.same(run)
        cambrian("resume", run, "-q", *settings(run__stop__generations=9))
        self.assertEqual(len({step for step, _ in self.same(run)}), 9)
        # Without them they stop; with them again they catch up.
        cambrian("resume", run, "-q", *settings(run__stop__generations=11, log__tensorboard="false"))
        self.assertEqual(len({step for step, _ in events_of(run)}), 9)
        cambrian("resume", run, "-q", *settings(run__stop__generations=12, log__tensorboard="true"))
        self.assertEqual(len({step for step, _ in self.same(run)}), 12)

    def test_a_run_that_is_killed(self):
        run = self.folder / "killed"
        keys = settings(run__directory=run, engine__backend="cpu", run__stop__solved="null", run__stop__fitness="null",
                        population__size=64, run__stop__generations=100000, log__tensorboard="true")
        with subprocess.Popen([PROGRAM, "evolve", str(ROOT / "configs" / "xor.json"), "-q", *keys],
                              stdout=subprocess.DEVNULL) as process:
            try:
                end = time.monotonic() + 60
                while not (run / NAME).exists() or (run / NAME).stat().st_size < 20_000:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
            finally:
                process.kill()
        file = run / NAME
        file.write_bytes(file.read_bytes()[:-7])  # A record that was cut short.
        with open(run / "generations.csv", encoding="utf-8") as table:
            lines = sum(1 for _ in table)
        cambrian("resume", run, "-q", *settings(run__stop__generations=lines + 20))
        self.assertEqual(len({step for step, _ in self.same(run)}), lines + 20)

    def test_epochs(self):
        run = self.folder / "training"
        train = ("train", ROOT / "configs" / "train_xor.json", "-q")
        keys = {"engine__backend": "cpu", "log__tensorboard": "true", "training__epochs": 4}
        cambrian(*train, *settings(run__directory=run, **keys, training__learning_rate=0.01))
        self.assertIn((4, "train_loss"), self.same(run, "epochs.csv"))
        several = self.folder / "several"
        cambrian(*train, *settings(run__directory=several, **keys, training__learning_rate="[0.01,0.02]"))
        self.assertIn((4, "train_loss/1"), self.same(several, "epochs.csv", several=True))

    def test_what_else_it_may_be_is_refused(self):
        done = subprocess.run([PROGRAM, "validate", str(ROOT / "configs" / "xor.json"),
                               *settings(log__tensorboard="often")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("log.tensorboard is \"often\" (allowed: true or false)", done.stderr)
        self.assertIn("events.out.tfevents", cambrian("explain", "log.tensorboard"))


if __name__ == "__main__":
    support.main()
