#!/usr/bin/env python3
"""Logs of runs, trials and sweeps read in Python beside their files and what the program prints. Usage: logs.py PROGRAM"""
import csv
import json
import math
import unittest
from unittest import mock

import support
from support import GOLDEN, ROOT, FolderTest, cambrian, cambrian_read, settings

try:
    import pandas
except ImportError:
    pandas = None


def cells(path):
    """A table as it stands in a file: texts by column."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return {name: [row[at] for row in rows[1:]] for at, name in enumerate(rows[0])}


def text_of(value):
    """As tables have it."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ";".join(map(str, value))
    return value if isinstance(value, str) else repr(value)


def plain(frame):
    """A frame of pandas whose missing values are all of one kind, whatever its columns were made of."""
    return frame.astype(object).where(frame.notna(), None)


class Logs(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_path = cls.evolve("species", "xor_species.json", run__stop__generations=6, run__stop__solved="null",
                                  population__size=24, log__individuals="all")
        cls.read = cambrian_read.run(cls.run_path)
        cls.training_path = cls.folder / "training"
        cambrian("train", ROOT / "configs" / "train_xor.json", "-q",
                 *settings(run__directory=cls.training_path, training__epochs=3, engine__backend="cpu",
                           training__learning_rate="[0.01,0.02]"))
        cls.training = cambrian_read.run(cls.training_path)

    def compare(self, table, expected):
        """Each value is that of the text."""
        self.assertEqual(table.columns, list(expected))
        for column, texts in expected.items():
            values = table.lists[column]
            self.assertEqual(len(values), len(texts), column)
            for value, text in zip(values, texts):
                if isinstance(value, float):
                    self.assertEqual(value, float(text), column)
                elif isinstance(value, bool):
                    self.assertEqual(value, text in ("1", "true"), column)
                else:
                    self.assertEqual(text_of(value), text, column)

    def kinds(self, table):
        return {column: {type(value).__name__ for value in values if value is not None}
                for column, values in table.lists.items()}

    def test_tables_hold_what_their_files_do(self):
        for name in ("generations", "species", "timings"):
            self.compare(getattr(self.read, name), cells(self.run_path / f"{name}.csv"))
        self.compare(self.training.epochs, cells(self.training_path / "epochs.csv"))
        self.compare(self.training.timings, cells(self.training_path / "timings.csv"))
        islands = self.evolve("islands", "xor.json", run__stop__generations=3, population__size=16, islands__count=2)
        self.compare(cambrian_read.run(islands).islands, cells(islands / "islands.csv"))

    def test_columns_have_their_types(self):
        generations = self.kinds(self.read.generations)
        for column in ("generation", "evaluations", "parameters", "species", "env_steps", "redrawn", "invalid"):
            self.assertEqual(generations[column], {"int"}, column)
        for column in ("best", "mean", "worst", "diversity"):
            self.assertEqual(generations[column], {"float"}, column)
        epochs = self.kinds(self.training.epochs)
        self.assertEqual(epochs["individual"], {"int"})
        self.assertEqual(epochs["best"], {"bool"})
        self.assertEqual(epochs["train_loss"], {"float"})

    @unittest.skipIf(cambrian_read.numpy is None, "numpy is not installed")
    def test_columns_are_arrays(self):
        generations = self.read.generations
        self.assertEqual(generations["generation"].dtype, "int64")
        self.assertEqual(generations["best"].dtype, "float64")
        self.assertEqual(generations["best"].tolist(), generations.lists["best"])
        large = cambrian_read.Table({"a": [1 << 63, 0], "b": [None, 1], "c": [None, (1 << 60) + 1], "d": [None, 0.5]})
        self.assertEqual([large[column].dtype for column in "abcd"], ["uint64", "float64", "object", "float64"])
        self.assertEqual(large["c"][1], (1 << 60) + 1)
        self.assertTrue(math.isnan(large["d"][0]))

    def test_without_numpy_columns_are_lists(self):
        with mock.patch.object(cambrian_read, "numpy", None):
            self.assertEqual(self.read.generations["generation"], [0, 1, 2, 3, 4, 5])
            self.assertEqual(next(self.read.generations.rows())["generation"], 0)
        with self.assertRaisesRegex(KeyError, "there are generation, evaluations"):
            self.read.generations["fitness"]

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_pandas_gets_right_types(self):
        frame = cambrian_read.run(self.run_path).generations.to_pandas()
        expected = pandas.read_csv(self.run_path / "generations.csv", float_precision="round_trip")
        self.assertEqual(frame["best"].tolist(), expected["best"].tolist())
        self.assertEqual(str(frame["species"].dtype), "int64")
        self.assertEqual(str(frame["validated"].dtype), "float64")
        some = cambrian_read.Table({"a": [None, 1 << 62], "b": [True, None], "c": [None, None]}).to_pandas()
        self.assertEqual([str(some[column].dtype) for column in "abc"], ["Int64", "boolean", "float64"])
        self.assertEqual(some["a"][1], 1 << 62)
        self.assertEqual(str(self.training.epochs.to_pandas()["best"].dtype), "bool")
        individuals = self.read.individuals.to_pandas()
        self.assertEqual(str(individuals["id"].dtype), "int64")
        self.assertEqual(set(individuals["status"]), {"ok"})
        with mock.patch.object(cambrian_read, "numpy", None):
            again = cambrian_read.run(self.run_path).generations.to_pandas()
        pandas.testing.assert_frame_equal(plain(frame), plain(again), check_dtype=False)

    @unittest.skipIf(pandas is not None, "pandas is installed")
    def test_without_pandas_that_is_said(self):
        with self.assertRaisesRegex(cambrian_read.CambrianError, "pandas .* install it, or use table.lists"):
            self.read.generations.to_pandas()

    def individuals_of(self, run):
        table = self.folder / "individuals.csv"
        cambrian("individuals", run, "--csv", table)
        return cells(table)

    def test_individuals_are_those_that_the_program_prints(self):
        self.compare(self.read.individuals, self.individuals_of(self.run_path))
        self.assertEqual(len(self.read.individuals), 6 * 24)
        islands = self.evolve("survivors", "xor.json", run__stop__generations=3, population__size=16, islands__count=2)
        self.compare(cambrian_read.run(islands).individuals, self.individuals_of(islands))
        for version in (1, 2):
            directory = self.folder / f"golden-{version}"
            directory.mkdir()
            (directory / "status.json").write_text("{}")
            (directory / "individuals.cmb").write_bytes((GOLDEN / f"individuals_{version}.cmb").read_bytes())
            self.compare(cambrian_read.run(directory).individuals, self.individuals_of(directory))

    def test_lineage_is_that_which_the_program_prints(self):
        for birth in (None, 100, 30):
            table = self.folder / "lineage.csv"
            cambrian("lineage", self.run_path, "--csv", table, *([] if birth is None else ["--birth", birth]))
            self.compare(self.read.lineage(birth), cells(table))
        with self.assertRaisesRegex(cambrian_read.CambrianError, "birth 5000 is not in"):
            self.read.lineage(5000)

    def test_status_config_and_networks(self):
        self.assertEqual(self.read.status["state"], "done")
        self.assertEqual(self.read.config["population"]["size"], 24)
        self.assertEqual(self.read.best.fitness, self.read.status["best"])
        self.assertEqual(self.training.last.identity["task"]["type"], "dataset")

    def test_what_is_being_written_is_left_out(self):
        directory = self.folder / "torn"
        directory.mkdir()
        whole = (self.run_path / "generations.csv").read_text()
        blocks = (self.run_path / "individuals.cmb").read_bytes()
        (directory / "generations.csv").write_text(whole[:-3])
        (directory / "individuals.cmb").write_bytes(blocks[:-3])
        torn = cambrian_read.run(directory)
        self.assertEqual(torn.generations.lists["generation"], [0, 1, 2, 3, 4])
        self.assertEqual(len(torn.individuals), 5 * 24)

    def test_trials_as_one_table(self):
        directory = self.folder / "trials"
        cambrian("trials", ROOT / "configs" / "xor.json", "--runs", 3, "--directory", directory,
                 *settings(engine__backend="cpu", population__size=16, run__stop__generations=4))
        trials = cambrian_read.trials(directory)
        self.compare(trials.table, cells(directory / "trials.csv"))
        self.assertEqual(trials.summary["runs"], 3)
        self.assertEqual(trials.config["population"]["size"], 16)
        together = trials.generations
        self.assertEqual(together.columns[:2], ["run", "generation"])
        self.assertEqual(len(together), sum(len(run.generations) for run in trials.runs.values()))
        for seed, run in trials.runs.items():
            own = [row["best"] for row in together.rows() if row["run"] == seed]
            self.assertEqual(own, run.generations.lists["best"])
        with self.assertRaisesRegex(cambrian_read.CambrianError, "holds no run"):
            cambrian_read.run(directory)

    def test_a_sweep_as_one_table(self):
        directory = self.folder / "sweep"
        cambrian("sweep", ROOT / "configs" / "xor.json", "--over", "population.size=8,16", "--over",
                 "splice.mode=blend,point", "--runs", 2, "--directory", directory,
                 *settings(engine__backend="cpu", run__stop__generations=2))
        sweep = cambrian_read.sweep(directory)
        self.assertEqual(sweep.keys, ["population.size", "splice.mode"])
        self.assertEqual(list(sweep.points), [("8", "blend"), ("8", "point"), ("16", "blend"), ("16", "point")])
        self.assertEqual(sweep.table.lists["population.size"], [8, 8, 16, 16])
        self.assertEqual(sweep.table.lists["runs"], [2, 2, 2, 2])
        together = sweep.generations
        self.assertEqual(together.columns[:4], ["population.size", "splice.mode", "run", "generation"])
        expected = sum(len(run.generations) for point in sweep.points.values() for run in point.runs.values())
        self.assertEqual(len(together), expected)

    def test_a_sweep_over_objects_and_paths(self):
        """Their folders have no slash and no brace, are short and each another's, and neither value nor type depends on
        how a number is written."""
        directory = self.folder / "objects"
        points = ['{"mode":"blend"}', '{"mode":"point"}']
        names = ["a/b", "a-b", "c", 150 * "\u00e4"]
        cambrian("sweep", ROOT / "configs" / "xor.json", "--over", "splice=" + ",".join(points), "--over",
                 "run.name=" + ",".join(names), "--runs", 2, "--directory", directory,
                 *settings(engine__backend="cpu", run__stop__generations=2, population__size=8))
        sweep = cambrian_read.sweep(directory)
        self.assertEqual(list(sweep.points), [(point, name) for point in points for name in names])
        for (_, name), trials in sweep.points.items():
            self.assertEqual(trials.runs[1].config["run"]["name"], name)
        self.assertEqual(len(sweep.generations), 8 * 2 * 2)
        kinds = self.kinds(sweep.table)
        for column in ("runs", "champion_tests"):
            self.assertEqual(kinds[column], {"int"}, column)
        for column in ("evaluations_mean", "generations_mean", "best_mean"):
            self.assertEqual(kinds[column], {"float"}, column)
        self.assertLessEqual(kinds["success_rate"], {"float"})

    def test_what_is_not_there(self):
        with self.assertRaisesRegex(cambrian_read.CambrianError, "holds no run .*name the directory of one"):
            cambrian_read.run(self.folder)
        with self.assertRaisesRegex(cambrian_read.CambrianError, "epochs.csv cannot be read"):
            self.read.epochs
        json.dumps(self.read.status)


if __name__ == "__main__":
    support.main()
