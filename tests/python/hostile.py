#!/usr/bin/env python3
"""Files that are damaged, or made to do harm: each is a CambrianError, soon and in little memory. Usage: hostile.py"""
import json
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import sys
import tracemalloc
import unittest
from unittest import mock

import support
from support import GOLDEN, FolderTest, cambrian_read, sealed

CambrianError = cambrian_read.CambrianError
MEMORY = 1 << 30
SECONDS = 300
ALL_CASES = "CAMBRIAN_ALL_CASES" in os.environ  # As at night.


def read_all(path):
    """Whatever a network has."""
    network = cambrian_read.network(path)
    return network.tensors, network.structure, network.formats, network.metadata


def in_little_memory():
    return "CAMBRIAN_IN_LITTLE_MEMORY" in os.environ


def block(first, count):
    """Individuals, all of whose columns are constant: some 300 bytes, however many they are."""
    columns = struct.pack("<QB", 1, 0) + 12 * struct.pack("<QB", 0, 0)
    return sealed(b"individuals", {"about": b"\1" + struct.pack("<IQBIQ", 2, 0, 0, count, first), "columns": columns})


class Hostile(FolderTest):
    def setUp(self):
        self.file = self.folder / "file.cmb"

    def read(self, data, read=read_all):
        """Whether bytes are read; anything but a CambrianError goes on to the caller."""
        self.file.write_bytes(data)
        try:
            read(self.file)
            return True
        except CambrianError as error:
            self.assertIn(str(self.file), str(error))
            return False

    def individuals(self, path):
        return cambrian_read._individuals(os.fspath(path))

    def test_no_byte_may_be_another(self):
        for name, read in (("network_3_dataset.cmb", read_all), ("individuals_2.cmb", self.individuals)):
            good = (GOLDEN / name).read_bytes()
            self.assertTrue(self.read(good, read))
            for at in range(0, len(good), 1 if ALL_CASES else 7):
                bad = bytearray(good)
                bad[at] ^= 0x41
                self.assertFalse(self.read(bytes(bad), read), f"{name}: byte {at}")

    def test_no_end_may_be_missing(self):
        good = (GOLDEN / "network_3_dataset.cmb").read_bytes()
        for length in range(len(good)):
            self.assertFalse(self.read(good[:length]), length)
        self.assertFalse(self.read(good + b"\0"))

    def test_changed_sections_under_right_checksums(self):
        """What is read is a value or an error; there is nothing else, however bytes lie."""
        draw = random.Random(7)
        read = 0
        for name, reader in (("network_3_dataset.cmb", read_all), ("network_2_labels.cmb", cambrian_read.network),
                             ("individuals_2.cmb", self.individuals)):
            good = (GOLDEN / name).read_bytes()
            if name.startswith("individuals"):
                # The block after the head.
                begin = cambrian_read._block_length(memoryview(good), name)
                head, good = good[:begin], good[begin:]
                good = good[:cambrian_read._block_length(memoryview(good), name)]
            else:
                head = b""
            kind, sections = cambrian_read._container(memoryview(good), name)
            self.assertTrue(self.read(head + sealed(kind.encode(), sections), reader))
            for _ in range(500 if ALL_CASES else 100):
                changed = dict(sections)
                victim = draw.choice(list(changed))
                content = bytearray(changed[victim])
                for _ in range(draw.randint(1, 4)):
                    at = draw.randrange(len(content)) if content else 0
                    what = draw.randrange(4)
                    if what == 0 and content:
                        content[at] = draw.randrange(256)
                    elif what == 1:
                        content[at:at + 8] = struct.pack("<Q", draw.choice([0, 1, 1 << 20, 1 << 40, (1 << 64) - 1]))
                    elif what == 2:
                        del content[at:at + draw.randint(1, 9)]
                    else:
                        content[at:at] = bytes(draw.choices(range(256), k=draw.randint(1, 9)))
                changed[victim] = bytes(content)
                read += self.read(head + sealed(kind.encode(), changed), reader)
        self.assertGreater(read, 0)  # Numbers may be others.

    def test_claims_of_tables(self):
        def table(**claims):
            entry = {"name": b"about", "stored": 4, "plain": 4, "codec": 0, "count": 1, "length": None, **claims}
            rest = support.text_bytes(b"network")
            content = entry.get("content", b"abcd")
            rest += support.text_bytes(entry["name"]) + struct.pack(
                "<QQBQ", entry["stored"], entry["plain"], entry["codec"], cambrian_read._xxh3(content))
            head = b"CAMBRIAN" + struct.pack("<II", 1, entry["count"])
            length = entry["length"] or len(head) + 8 + len(rest) + 8 + len(content)
            head += struct.pack("<Q", length) + rest
            return head + struct.pack("<Q", cambrian_read._xxh3(head)) + content

        frame = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\x01\0\0"
        for claims in ({"stored": 1 << 63, "plain": 1 << 63}, {"plain": 1 << 62}, {"count": 0xFFFFFFFF}, {"codec": 2},
                       {"length": 1 << 60}, {"length": 1}, {"name": b"x" * 300}, {"name": b"\xff"},
                       {"codec": 1, "plain": 1 << 40, "content": frame, "stored": len(frame)},
                       {"codec": 1, "plain": 4, "content": b"abcd"}, {"codec": 1, "plain": 0, "stored": 0, "content": b""}):
            with self.subTest(**claims):
                self.assertFalse(self.read(table(**claims)))

    def test_a_frame_of_zeros_without_end(self):
        """Blocks of one repeated byte: 128 KiB of every four bytes; the frame says less, or as much as it holds."""
        blocks = b"".join(struct.pack("<I", (1 << 17) << 3 | 2)[:3] + b"\0" for _ in range(20_000))
        last = struct.pack("<I", (1 << 17) << 3 | 3)[:3] + b"\0"
        for plain in (1 << 16, 20_001 << 17):
            frame = b"\x28\xb5\x2f\xfd\xc0\x38" + struct.pack("<Q", plain) + blocks + last
            rest = support.text_bytes(b"network") + support.text_bytes(b"about") + struct.pack(
                "<QQBQ", len(frame), plain, 1, cambrian_read._xxh3(frame))
            head = b"CAMBRIAN" + struct.pack("<IIQ", 1, 1, 24 + len(rest) + 8 + len(frame)) + rest
            for way in cambrian_read.DECOMPRESSORS:
                with self.subTest(way=way.__name__, plain=plain), \
                        mock.patch.object(cambrian_read, "DECOMPRESSORS", [way]):
                    self.assertFalse(self.read(head + struct.pack("<Q", cambrian_read._xxh3(head)) + frame))

    def test_blocks_of_many_individuals(self):
        data = block(1, 0) + block(1, 1 << 16) + block(1 + (1 << 16), 1 << 16)
        self.assertTrue(self.read(data, self.individuals))
        with mock.patch.object(cambrian_read, "MAX_INDIVIDUALS", 100_000), \
                mock.patch.object(cambrian_read, "_unpacked", wraps=cambrian_read._unpacked) as unpacked:
            self.assertFalse(self.read(data, self.individuals))
            self.assertEqual(unpacked.call_count, 2 * 13)  # Nothing of the block that is too many.
        if in_little_memory():
            self.assertFalse(self.read(block(1, 0) + b"".join(block(1 + (i << 16), 1 << 16) for i in range(120)),
                                       self.individuals))

    def test_files_with_holes(self):
        """Of eight gigabytes that are nowhere: what they begin with is looked at before they are read."""
        length = 8 << 30
        with mock.patch.object(cambrian_read, "_container", side_effect=AssertionError("it was read")):
            for begin in (b"", b"CAMBRIAN", b"CAMBRIAN" + struct.pack("<IIQ", 1, 1, length - 1)):
                self.file.write_bytes(begin)
                os.truncate(self.file, length)
                for read in (read_all, self.individuals):
                    with self.assertRaisesRegex(CambrianError, "cannot be read"):
                        read(self.file)
        if in_little_memory():
            self.file.write_bytes(b"CAMBRIAN" + struct.pack("<IIQ", 1, 1, length))
            os.truncate(self.file, length)
            with self.assertRaisesRegex(CambrianError, "more memory than there is"):
                read_all(self.file)

    def test_shapes_of_tensors(self):
        kind, sections = cambrian_read.container(GOLDEN / "network_3_dataset.cmb")
        structure = json.loads(sections["structure"])
        right = [entry["shape"] for entry in structure["weights"]]
        room = len(sections["genome"])

        def tensors(*shapes):
            weights = [{"name": str(i), "shape": shape} for i, shape in enumerate(shapes)]
            text = json.dumps({**structure, "weights": weights}).encode()
            return sealed(kind.encode(), {**sections, "structure": text})

        for numpy in {cambrian_read.numpy, None}:
            with mock.patch.object(cambrian_read, "numpy", numpy):
                self.assertTrue(self.read(tensors(*right)))
                self.assertTrue(self.read(tensors(*right, [0], [3, 0])))
                for shape in ([1 << 62] * 100_000, [1] * 2000, [1] * 9, [1 << 22, 0], [1 << 40, 0], [0, 1 << 40],
                              [room, 2, 0], [room + 1, 0], [-1], [True], [0.0], [None], ["1"], "1", None):
                    self.assertFalse(self.read(tensors(*right, shape)), str(shape)[:40])
                self.assertFalse(self.read(tensors(*right, [room // 2, 0], [room // 2, 0])))

    def test_what_is_no_regular_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for path in (pipe, self.folder, self.folder / "missing", pathlib.Path("/dev/zero")):
            with self.assertRaisesRegex(CambrianError, "cannot be read"):
                cambrian_read.network(path)

    def table_is_read(self, data, name="generations.csv"):
        path = self.folder / name
        path.write_bytes(data)
        try:
            cambrian_read._table(os.fspath(path))
            return True
        except CambrianError as error:
            self.assertIn(str(path), str(error))
            return False

    def test_tables(self):
        good = b"generation,best\n0,1\n1,-inf\n2,nan\n3,\n"
        self.assertTrue(self.table_is_read(good))
        for bad in (b"", b"generation,best", b"generation,best\n0\n", b"generation,best\n0,1,2\n",
                    b"generation,best\nx,1\n",
                    b"generation,best\n0,x\n", b"generation,best\n0x10,1\n", b"generation,best\n1.5,1\n",
                    b"generation,best\n1_0,1\n", b"generation,best\n0,1_0\n", b"generation,best\n0, 1\n",
                    b"generation,generation\n0,1\n", b"generation,best\n\xff,1\n", b"generation,best\n0,\0\n",
                    b"generation,best\n" + b"9" * 5000 + b",1\n", b"generation,best\n0,\"1\n",
                    b"generation,best\n0," + b"1" * 200_000 + b"\n", "generation,best\n٣,1\n".encode()):
            with self.subTest(bad[:40]):
                self.assertFalse(self.table_is_read(bad))
        self.assertFalse(self.table_is_read(b"seed,solved\n1,maybe\n", "trials.csv"))
        self.assertFalse(self.table_is_read(b"setting,solved\n1,1\n", "sweep.csv"))
        for bad in (b"solved,best\n1,0.5\n", b"seed,solved\n,1\n"):
            (self.folder / "trials.csv").write_bytes(bad)
            with self.assertRaisesRegex(CambrianError, "trials.csv cannot be read .*seed"):
                cambrian_read.trials(self.folder).runs

    def test_a_mark_of_the_order_of_bytes(self):
        """Which some editors write before a text."""
        path = self.folder / "generations.csv"
        path.write_bytes(b"\xef\xbb\xbfgeneration,best\n0,1\n")
        self.assertEqual(cambrian_read._table(os.fspath(path)).lists, {"generation": [0], "best": [1.0]})

    def test_memory_of_tables(self):
        """As it is read a table takes little more than its values do."""
        path = self.folder / "generations.csv"
        rows = (",".join([str(i), *(f"{0.001 * i + k:.10f}" for k in range(20))]) for i in range(5000))
        path.write_text("\n".join([",".join(["generation", *map(str, range(20))]), *rows, ""]))
        tracemalloc.start()
        table = cambrian_read._table(os.fspath(path))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.assertEqual(len(table), 5000)
        self.assertLess(peak, 6 * path.stat().st_size)

    def test_json(self):
        status = self.folder / "status.json"
        for bad in (b"", b"[]", b"{", b'{"best": NaN}', b'{"a": ' + b"[" * 100_000, b'{"a": "\xff"}', b"9" * 10_000):
            status.write_bytes(bad)
            with self.assertRaisesRegex(CambrianError, "status.json cannot be read"):
                cambrian_read.run(self.folder).status

    def test_memory_and_time(self):
        """All of these where there is little of both."""
        if in_little_memory():
            self.skipTest("this is that run")

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(SECONDS)

        done = subprocess.run([sys.executable, __file__], env={**os.environ, "CAMBRIAN_IN_LITTLE_MEMORY": "1",
                                                               "OPENBLAS_NUM_THREADS": "1"},
                              preexec_fn=limit, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ([] if in_little_memory() else ["Hostile.test_memory_and_time"]))
