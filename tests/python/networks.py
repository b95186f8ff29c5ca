#!/usr/bin/env python3
"""Networks read in Python beside what the program says of them. Usage: networks.py PROGRAM"""
import ctypes
import json
import random
import shutil
import struct
import subprocess
import sys
import unittest
from unittest import mock

import support
from support import GOLDEN, ROOT, FolderTest, cambrian, cambrian_read, settings


class Networks(FolderTest):
    def compare(self, file):
        """All that there is of a network, which the program converts and inspects."""
        network = cambrian_read.network(file)
        tensors, structure = (self.folder / name for name in ("network.safetensors", "network.json"))
        cambrian("convert", file, tensors)
        cambrian("convert", file, structure)
        metadata, expected = support.safetensors(tensors)
        self.assertEqual(set(network.tensors), set(expected))
        for name, (shape, data) in expected.items():
            self.assertEqual(support.shape_of(network.tensors[name]), shape, name)
            numbers = support.flat(network.tensors[name])
            self.assertEqual(struct.pack(f"<{len(numbers)}f", *numbers), data, name)
        self.assertEqual(network.structure, json.loads(structure.read_text())["network"])
        self.assertEqual(network.preparation, json.loads(metadata.get("preparation", "null")))
        origin = json.loads(metadata["origin"])
        self.assertEqual(network.identity, json.loads(origin["identity"]) if origin["identity"] else None)
        for key in ("generation", "birth", "validated", "fitness"):
            self.assertEqual(network.metadata[key], origin[key])
        return network

    def test_what_evolution_leaves(self):
        run = self.evolve("xor", "xor.json", run__stop__generations=8, population__size=20)
        network = self.compare(run / "best.cmb")
        self.assertEqual(network.identity["task"]["type"], "xor")
        neat = self.evolve("neat", "xor_neat.json", run__stop__generations=5, population__size=20)
        self.compare(neat / "best.cmb")
        hyperneat = self.evolve("hyperneat", "xor_hyperneat.json", run__stop__generations=3, population__size=20)
        self.compare(hyperneat / "best.cmb")

    def test_what_training_leaves(self):
        run = self.folder / "spirals"
        cambrian("train", ROOT / "configs" / "train_spirals.json", "-q",
                 *settings(run__directory=run, training__epochs=2, engine__backend="cpu"))
        self.compare(run / "best.cmb")
        self.compare(run / "last.cmb")

    def test_outputs_that_are_logits(self):
        rows = self.folder / "shares.csv"
        rows.write_text("x,y\n" + "".join(f"{i},{i / 20}\n" for i in range(21)))
        config = self.folder / "shares.json"
        source = {"type": "csv", "files": [str(rows)], "inputs": ["x"], "targets": ["y"]}
        config.write_text(json.dumps({
            "run": {"directory": str(self.folder / "shares")}, "training": {"epochs": 1},
            "task": {"type": "dataset", "source": source, "loss": {"type": "bce_with_logits"}},
            "network": {"layers": [{"type": "dense"}]}}))
        cambrian("train", config, "-q", *settings(engine__backend="cpu"))
        network = self.compare(self.folder / "shares" / "best.cmb")
        self.assertIs(network.preparation["logits"], True)

    def test_rows_that_are_shown_for_some_steps(self):
        for loss, logits in (("mse", False), ("bce_with_logits", True)):
            config, file = self.folder / "shown.json", self.folder / "shown.cmb"
            rows = self.folder / "shown.csv"
            rows.write_text("x,y\n" + "".join(f"{i},{i / 20}\n" for i in range(21)))
            source = {"type": "csv", "files": [str(rows)], "inputs": ["x"], "targets": ["y"]}
            config.write_text(json.dumps({
                "task": {"type": "dataset", "steps": 3, "source": source, "loss": {"type": loss}},
                "network": {"layers": [{"type": "gru", "hidden": 2}, {"type": "dense"}]}}))
            cambrian("convert", config, file)
            network = self.compare(file)
            self.assertIs(network.preparation["shown"], True)
            self.assertEqual(network.preparation["sequence_rows"], 3)
            self.assertIs(network.preparation.get("logits", False), logits)

    def test_ids_of_a_tokenizer(self):
        config, file, text = (self.folder / name for name in ("ids.json", "ids.cmb", "ids.txt"))
        text.write_text("abcabcabcab")
        (self.folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}}))
        for tokenizer in ("tokenizer.json", "bytes"):
            source = {"type": "text", "file": str(text), "context": 4, "tokenizer": tokenizer}
            config.write_text(json.dumps({
                "task": {"type": "dataset", "source": source, "loss": {"type": "cross_entropy"}},
                "network": {"layers": [{"type": "embedding", "vocabulary": 256, "features": 2}, {"type": "dense"}]}}))
            cambrian("convert", config, file)
            self.assertEqual(len(self.compare(file).preparation.get("tokenizer", "")), 32 if tokenizer == "tokenizer.json" else 0)

    def test_a_network_of_each_layer(self):
        """With the first example of each layer that stands by itself in a list of layers."""
        rows = json.loads(cambrian("registry", "--json"))["layers"]
        compared = 0
        for row in rows:
            file = self.folder / f"{row['name']}.cmb"
            layer, shape = row.get("example"), row.get("input")
            if layer is None or shape is None:
                continue
            config = self.folder / "layer.json"
            config.write_text(json.dumps({"network": {"input": shape, "layers": [layer, {"type": "dense", "out": 2}]}}))
            cambrian("convert", config, file)
            with self.subTest(row["name"]):
                self.compare(file)
                compared += 1
        self.assertGreater(compared, 25)

    def test_golden_files_of_all_formats(self):
        for file in sorted(GOLDEN.glob("network_*.cmb")):
            with self.subTest(file.name):
                network = cambrian_read.network(file)
                if network.format >= 3:
                    self.compare(file)
                    continue
                with self.assertRaisesRegex(cambrian_read.CambrianError, "cambrian convert .* new.cmb"):
                    network.tensors
                anew = self.folder / file.name
                cambrian("convert", file, anew)
                again = self.compare(anew)
                self.assertEqual({**network.metadata, "format": 3}, again.metadata)
                self.assertEqual(network.preparation, again.preparation)

    def test_a_network_that_nobody_judged_has_no_fitness(self):
        config, file = self.folder / "fresh.json", self.folder / "fresh.cmb"
        config.write_text(json.dumps({"network": {"input": [2], "layers": [{"type": "dense", "out": 1}]}}))
        cambrian("convert", config, file)
        network = self.compare(file)
        self.assertIsNone(network.fitness)
        self.assertIn("fitness None", repr(network))

    def test_number_formats_are_told(self):
        anew = self.folder / "formats.cmb"
        cambrian("convert", GOLDEN / "network_2_formats.cmb", anew)
        network = cambrian_read.network(anew)
        self.assertEqual({name: network.formats.get(name) for name in ("slot.0.weight", "slot.1.weight", "head.weight",
                                                                       "head.bias")},
                         {"slot.0.weight": "float4_e2m1fn", "slot.1.weight": "q4_0", "head.weight": "int8",
                          "head.bias": None})

    def test_without_numpy_tensors_are_lists(self):
        with mock.patch.object(cambrian_read, "numpy", None):
            network = self.compare(GOLDEN / "network_3_dataset.cmb")
            self.assertIsInstance(network.tensors["head.weight"][0], list)

    @unittest.skipIf(cambrian_read.numpy is None, "numpy is not installed")
    def test_with_numpy_they_are_arrays(self):
        network = cambrian_read.network(GOLDEN / "network_3_dataset.cmb")
        weight = network.tensors["head.weight"]
        self.assertEqual((weight.dtype, weight.shape), ("float32", (3, 2)))
        weight += 1.0  # They may be written to.

    def test_each_way_to_unpack(self):
        file = GOLDEN / "network_2_neat.cmb"
        expected = cambrian_read.container(file)
        ways = 0
        for way in cambrian_read.DECOMPRESSORS:
            with self.subTest(way.__name__), mock.patch.object(cambrian_read, "DECOMPRESSORS", [way]):
                try:
                    self.assertEqual(cambrian_read.container(file), expected)
                    ways += 1
                except cambrian_read.CambrianError as error:
                    self.assertRegex(str(error), "there is neither the module zstandard")
        self.assertGreater(ways, 0)

    def test_the_checksum_is_that_of_the_library(self):
        self.assertEqual(cambrian_read._xxh3(b""), 0x2D06800538D394C2)
        try:
            library = cambrian_read._library("libxxhash.so.0", "libxxhash.0.dylib")
        except ImportError:
            self.skipTest("libxxhash is not installed")
        library.XXH3_64bits.restype = ctypes.c_uint64
        library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        draw = random.Random(1)
        for length in [*range(300), 1023, 1024, 1025, 1088, 2048, 2049, 65535, 65536, 100_000]:
            data = bytes(draw.choices(range(256), k=length))
            expected = library.XXH3_64bits(data, length)
            self.assertEqual(cambrian_read._xxh3(data), expected, length)
            self.assertEqual(cambrian_read._hash64(data), expected, length)

    def test_other_files_say_what_they_are(self):
        for name, words in (("checkpoint_5.cmb", "'checkpoint'.*cambrian extract"), ("training_2.cmb", "'training'"),
                            ("network_1_xor.safetensors", "not a Cambrian file")):
            with self.assertRaisesRegex(cambrian_read.CambrianError, words):
                cambrian_read.network(GOLDEN / name)

    def test_the_file_works_alone(self):
        """In a folder of its own, without anything that was installed beside Python."""
        folder = self.folder / "alone"
        folder.mkdir()
        shutil.copy(cambrian_read.__file__, folder)
        look = (f"import sys; sys.path.insert(0, {str(folder)!r}); import cambrian_read as cambrian; "
                f"network = cambrian.network({str(GOLDEN / 'network_3_dataset.cmb')!r}); "
                "print(cambrian.numpy, network.fitness, len(network.tensors['head.weight']))")
        done = subprocess.run([sys.executable, "-I", "-S", "-c", look], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.split(), ["None", "-0.6290522416432699", "3"], done.stderr)


if __name__ == "__main__":
    support.main()
