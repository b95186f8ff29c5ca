"""Reads what Cambrian writes: networks, and the logs of runs, trials and sweeps. One file that needs Python alone and
uses numpy and pandas where they are.

    import cambrian_read as cambrian
    frame = cambrian.run("runs/xor-1").generations.to_pandas()

    network = cambrian.network("runs/xor-1/best.cmb")
    network.fitness, network.structure["layers"], network.tensors["head.weight"]

Files are checked as they are read: whatever is damaged, cut short or not of Cambrian is a CambrianError that says so.
"""
import array
import contextlib
import csv
import ctypes
import functools
import io
import json
import math
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:  # Then tensors are lists of lists, and columns are lists.
    numpy = None

__all__ = ["CambrianError", "Network", "Run", "Sweep", "Table", "Trials", "container", "network", "run", "sweep",
           "trials"]

LARGEST_FILE = 1 << 36
LONGEST_NAME = 255
LARGEST_TABLE = 1 << 28
LARGEST_INDIVIDUALS = 1 << 30
LARGEST_JSON = 1 << 26


class CambrianError(Exception):
    """A file that is missing, damaged, or another than was asked for: `<problem> (<why>) <suggestion>`."""


def _damaged(path, why):
    return CambrianError(f"{path} cannot be read ({why}) restore it from a good copy")


@contextlib.contextmanager
def _in_memory(path):
    try:
        yield
    except MemoryError:
        raise CambrianError(f"{path} cannot be read (it needs more memory than there is) read it where there is more"
                            ) from None


def network(path):
    """The Network of a .cmb file, such as best.cmb."""
    return Network(path)


def run(path):
    """The Run in a directory, of evolution or training; also while it goes on."""
    return Run(path)


def trials(path):
    """The Trials that `cambrian trials` left in a directory."""
    return Trials(path)


def sweep(path):
    """The Sweep that `cambrian sweep` left in a directory."""
    return Sweep(path)


# Tables.

# Columns that count or name, and truth values; what is in neither, nor text, is a real number.
INTEGERS = {
    "generations.csv": "generation evaluations parameters task species simplifying bytes products env_steps redrawn "
                       "invalid",
    "timings.csv": "generation epoch rank compiled splits fallbacks fetched remade",
    "islands.csv": "generation island invalid",
    "species.csv": "generation island id size age improved offspring representative",
    "epochs.csv": "epoch individual skipped",
    "trials.csv": "seed generations evaluations champion_tests parameters env_steps",
    "sweep.csv": "runs solved failed_before_cap champion_tests evaluations_count generations_count best_count "
                 "validated_count tested_count",
}
FLAGS = {"epochs.csv": "best stopped", "trials.csv": "solved"}
TEXTS = {"trials.csv": "reason"}


class Table:
    """Columns of equal length, by name: `table["best"]` is a numpy array (a list without numpy), with NaN, or None,
    where a cell is empty; `table.lists` has all as lists."""

    def __init__(self, lists):
        self.lists = lists

    @property
    def columns(self):
        return list(self.lists)

    def __len__(self):
        return len(next(iter(self.lists.values()), []))

    def __contains__(self, column):
        return column in self.lists

    def __getitem__(self, column):
        if column not in self.lists:
            raise KeyError(f"there is no column {column!r}: there are {', '.join(self.lists)}")
        values = self.lists[column]
        return values if numpy is None else _column_array(values)

    def rows(self):
        """Each row as a dict."""
        for values in zip(*self.lists.values()):
            yield dict(zip(self.lists, values))

    def to_pandas(self):
        """A pandas.DataFrame; integers with empty cells are of pandas' type Int64."""
        try:
            import pandas
        except ImportError as error:
            raise CambrianError("to_pandas() needs pandas (it is not installed) install it, or use table.lists"
                                ) from error
        return pandas.DataFrame({name: _column_series(pandas, values) for name, values in self.lists.items()},
                                columns=self.columns)

    def __repr__(self):
        return f"<Table of {len(self)} rows: {', '.join(self.lists)}>"


def _kind(values):
    """int, float, bool, str or tuple, and whether there are values that miss."""
    kinds = {type(value) for value in values}
    missing = type(None) in kinds
    kinds.discard(type(None))
    return (kinds.pop() if len(kinds) == 1 else float if not kinds else object), missing


def _column_array(values):
    kind, missing = _kind(values)
    if kind is int:
        # What no double holds is kept exactly.
        if missing and max(abs(value) for value in values if value is not None) <= 1 << 53:
            return numpy.array([math.nan if value is None else value for value in values], "float64")
        if not missing and -(1 << 63) <= min(values) and max(values) < 1 << 63:
            return numpy.array(values, "int64")
        if not missing and 0 <= min(values) and max(values) < 1 << 64:
            return numpy.array(values, "uint64")
    if kind is float:
        return numpy.array([math.nan if value is None else value for value in values], "float64")
    if kind in (bool, str) and not missing:
        return numpy.array(values)
    result = numpy.empty(len(values), object)
    result[:] = values
    return result


def _column_series(pandas, values):
    kind, missing = _kind(values)
    if kind is int and missing and all(value is None or abs(value) < 1 << 63 for value in values):
        return pandas.Series(values, dtype="Int64")
    if kind is bool and missing:
        return pandas.Series(values, dtype="boolean")
    if numpy is None or kind in (str, tuple, object):
        return pandas.Series(values, dtype=object)
    return pandas.Series(_column_array(values))


def _table(path):
    """A table of a run, with the types of its columns."""
    name = os.path.basename(path)
    integers, flags, texts = (of.get(name, "").split() for of in (INTEGERS, FLAGS, TEXTS))

    def reader(column):
        return (_integer if column in integers else _flag if column in flags else str if column in texts else _real)

    with _in_memory(path):
        header, records = _records(path)
        # Before the runs of a sweep are its settings, which may be anything.
        settings = _settings(path, header) if name == "sweep.csv" else []
        readers = [str if column in settings else reader(column) for column in header]
        columns = [[] for _ in header]
        for line, record in enumerate(records, 2):
            for column, read, cell, values in zip(header, readers, record, columns):
                try:
                    values.append(read(cell) if cell else None)
                except ValueError:
                    raise _damaged(f"{path}: line {line}",
                                   f"{cell[:40]!r} is no value of the column {column}") from None
        return Table({column: _guessed(values) if column in settings else values
                      for column, values in zip(header, columns)})


def _settings(path, header):
    if "runs" not in header:
        raise _damaged(path, "it has no column runs")
    return header[:header.index("runs")]


def _records(path):
    """The header of a CSV file, and its records one by one: as texts they need much more memory than as values. A last
    line without an end is still being written, and left out."""
    data = _bytes_of(path, LARGEST_TABLE)
    data = data[:data.rfind(b"\n") + 1]
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""), strict=True)

    def records():
        try:
            for line, record in enumerate(reader, 1):
                if line > 1 and len(record) != len(header):
                    raise _damaged(f"{path}: line {line}",
                                   f"it has {len(record)} cells, the header has {len(header)}")
                yield record
        except csv.Error as error:
            raise _damaged(path, error) from None
        except UnicodeDecodeError:
            raise _damaged(path, "it is no UTF-8") from None

    found = records()
    header = next(found, None)
    if header is None:
        raise CambrianError(f"{path} cannot be read (it has no header) wait until its run has begun, or restore it")
    if len(set(header)) < len(header):
        raise _damaged(path, "a column stands twice")
    return header, found


def _integer(cell):
    if not (cell.isascii() and cell.lstrip("-").isdigit() and len(cell) <= 20):
        raise ValueError
    return int(cell)


def _real(cell):
    if "_" in cell or cell != cell.strip():
        raise ValueError
    return float(cell)


def _flag(cell):
    values = {"0": False, "1": True, "false": False, "true": True}
    if cell not in values:
        raise ValueError
    return values[cell]


def _guessed(cells):
    """Values of a column that anything may stand in; None where a cell is empty."""
    for read in (_integer, _real):
        try:
            return [None if cell is None else read(cell) for cell in cells]
        except ValueError:
            pass
    return cells


def _joined(tables):
    """One table of many, each with values of its own for some columns first; what a table lacks is empty."""
    columns = {}
    for first, table in tables:
        columns.update(dict.fromkeys([*first, *table.columns]))
    lists = {column: [] for column in columns}
    for first, table in tables:
        for column, values in lists.items():
            values += [first[column]] * len(table) if column in first else table.lists.get(column, [None] * len(table))
    return Table(lists)


# Directories.

class _Directory:
    def __init__(self, path, files, what):
        self.path = os.fspath(path)
        if not any(os.path.exists(os.path.join(self.path, file)) for file in files):
            raise CambrianError(f"{self.path} holds no {what} (none of {', '.join(files)} is there) name the directory "
                                "of one")

    def _file(self, name):
        return os.path.join(self.path, name)

    def __repr__(self):
        return f"<{type(self).__name__} in {self.path}>"


class Run(_Directory):
    """What a run has left so far. Each file is read when it is first asked for, and once."""

    def __init__(self, path):
        super().__init__(path, ["generations.csv", "epochs.csv", "status.json"], "run")

    @functools.cached_property
    def config(self):
        """The resolved config."""
        return _json_file(self._file("config.json"))

    @functools.cached_property
    def status(self):
        """How it stands, as status.json says; a run that was killed has still the state "running"."""
        return _json_file(self._file("status.json"))

    @functools.cached_property
    def generations(self):
        """generations.csv: a row for each generation of an evolution."""
        return _table(self._file("generations.csv"))

    @functools.cached_property
    def epochs(self):
        """epochs.csv: a row for each epoch and individual of a training."""
        return _table(self._file("epochs.csv"))

    @functools.cached_property
    def timings(self):
        return _table(self._file("timings.csv"))

    @functools.cached_property
    def islands(self):
        return _table(self._file("islands.csv"))

    @functools.cached_property
    def species(self):
        return _table(self._file("species.csv"))

    @functools.cached_property
    def individuals(self):
        """individuals.cmb: who survived each generation, or all, of which parents; columns as `cambrian individuals`
        prints them, parents as a tuple."""
        return _individuals(self._file("individuals.cmb"))

    def lineage(self, birth=None):
        """The ancestors of best.cmb, or of another birth, the oldest first, as `cambrian lineage` prints them."""
        return _lineage(self.individuals, self.best.birth if birth is None else birth, self._file("individuals.cmb"))

    @functools.cached_property
    def best(self):
        """The Network best.cmb."""
        return Network(self._file("best.cmb"))

    @functools.cached_property
    def last(self):
        """The Network last.cmb of a training."""
        return Network(self._file("last.cmb"))


class _Together:
    """Tables of several runs as one, with columns first that tell them apart."""

    def _runs(self):
        raise NotImplementedError

    def together(self, table):
        """A table of all runs by its name, "species" for one."""
        return _joined([(first, getattr(one, table)) for first, one in self._runs()])

    @functools.cached_property
    def generations(self):
        return self.together("generations")


class Trials(_Directory, _Together):
    """Runs of one config with several seeds."""

    def __init__(self, path):
        super().__init__(path, ["trials.csv"], "trials")

    @functools.cached_property
    def table(self):
        """trials.csv: a row for each run that has ended."""
        return _table(self._file("trials.csv"))

    @functools.cached_property
    def summary(self):
        """What they came to together, as summary.json says."""
        return _json_file(self._file("summary.json"))

    @functools.cached_property
    def config(self):
        return _json_file(self._file("config.json"))

    @functools.cached_property
    def runs(self):
        """The Run of each seed that is in the table."""
        seeds = self.table.lists.get("seed", [None])
        if None in seeds:
            raise _damaged(self._file("trials.csv"), "it does not name the seed of each run")
        return {seed: Run(self._file(f"seed-{seed}")) for seed in seeds}

    def _runs(self):
        return [({"run": seed}, one) for seed, one in self.runs.items()]


class Sweep(_Directory, _Together):
    """Trials of each combination of some settings."""

    def __init__(self, path):
        super().__init__(path, ["sweep.csv"], "sweep")

    @functools.cached_property
    def table(self):
        """sweep.csv: a row for each point, its settings first."""
        return _table(self._file("sweep.csv"))

    @property
    def keys(self):
        """The settings that differ."""
        return _settings(self._file("sweep.csv"), self.table.columns)

    @functools.cached_property
    def points(self):
        """The Trials of each point: by the values of the settings, as they were given."""
        _, records = _records(self._file("sweep.csv"))
        values = [tuple(record[:len(self.keys)]) for record in records]
        return {point: Trials(self._file(self._folder(point))) for point in values}

    def _folder(self, point):
        """The name of a point, without what a name of a folder does not have; a long one, or one that several points
        would have, ends with a hash of the name of the point."""
        name = ",".join(f"{key}={value}" for key, value in zip(self.keys, point))
        plain = name.translate({ord(letter): "-" for letter in "/{}"})
        end = f"-{_hash64(name.encode()):016x}"
        hashed = plain.encode()[:LONGEST_NAME - len(end)].decode(errors="ignore") + end
        return hashed if os.path.isdir(self._file(hashed)) else plain

    def _runs(self):
        rows = [dict(zip(self.keys, row)) for row in zip(*(self.table.lists[key] for key in self.keys))]
        return [({**row, **first}, one) for row, point in zip(rows, self.points.values())
                for first, one in point._runs()]


# Networks.

MAX_AXES = 8


class Network:
    """A network on disk.

    `fitness` (None where there is no valid one, as of what training or conversion has made), `validated` (None where it was
    not), `generation` and `birth` say where it comes from, `identity` is the
    config of its run (None where there was none), `preparation` how rows of data become its inputs and its outputs
    answers (None where nothing does).
    """

    OLDEST, NEWEST, DESCRIBED = 1, 3, 3

    def __init__(self, path):
        self.path = os.fspath(path)
        kind, sections = container(self.path)
        if kind != "network" or "about" not in sections or "genome" not in sections:
            hint = "write one with 'cambrian extract'" if kind == "checkpoint" else "give the best.cmb of a run"
            raise CambrianError(f"{self.path} holds no network (it is a file of kind {kind[:40]!r}) {hint}")
        about = _Archive(sections["about"], self.path)
        self.format = about.format("network", self.OLDEST, self.NEWEST)
        identity = about.text()
        self.identity = _json_text(identity, f"{self.path}: its identity", dict) if identity else None
        self.generation, self.birth, fitness = about.words("QQd")
        self.fitness = fitness if math.isfinite(fitness) else None
        validated, value = about.flag(), about.words("d")[0]
        self.validated = value if validated else None
        about.finish()
        preparation = sections.get("preparation")
        self.preparation = None if preparation is None else _preparation(_Archive(preparation, self.path))
        self._genome = sections["genome"]
        self._structure = sections.get("structure")

    @functools.cached_property
    def _description(self):
        if self._structure is None:
            raise CambrianError(f"{self.path} does not describe its structure (it has format {self.format}, from "
                                f"{self.DESCRIBED} on networks do) write it anew: cambrian convert {self.path} new.cmb")
        return _json_text(self._structure, f"{self.path}: its structure", dict)

    @property
    def structure(self):
        """The network as a config has it: the section `network`, with inputs and all widths."""
        return self._member("network", dict)

    @functools.cached_property
    def tensors(self):
        """Weights by name, as `cambrian convert` names them: numpy arrays of float32, or lists of lists."""
        with _in_memory(self.path):
            shapes = self._shapes()
            weights = self._weights(sum(map(math.prod, shapes.values())))
            tensors, at = {}, 0
            for name, shape in shapes.items():
                count = math.prod(shape)
                tensors[name] = _shaped(weights[at:at + count], shape)
                at += count
            return tensors

    def _shapes(self):
        """Of each tensor. Together they have fewer elements, and empty rows, than the genome has bytes."""
        shapes, room = {}, len(self._genome)
        for entry in self._member("weights", list):
            name, shape = (entry.get("name"), entry.get("shape")) if isinstance(entry, dict) else (None, None)
            if (not isinstance(name, str) or name in shapes or not isinstance(shape, list) or len(shape) > MAX_AXES
                    or any(type(extent) is not int or not 0 <= extent <= len(self._genome) for extent in shape)):
                raise _damaged(self.path, "its structure describes no tensors")
            room -= math.prod(max(extent, 1) for extent in shape)
            if room < 0:
                raise _damaged(self.path, "its structure describes more weights than it has")
            shapes[name] = tuple(shape)
        return shapes

    @functools.cached_property
    def formats(self):
        """Number formats of tensors that are not kept in float32 alone, by name. Tensors hold what the codes are made
        of; `cambrian quantise` and `convert --inference` make the codes."""
        return {entry["name"]: entry["dtype"] for entry in self._member("weights", list)
                if isinstance(entry, dict) and "dtype" in entry and "name" in entry}

    @property
    def metadata(self):
        return {"format": self.format, "generation": self.generation, "birth": self.birth, "fitness": self.fitness,
                "validated": self.validated, "identity": self.identity}

    def _member(self, name, kind):
        value = self._description.get(name)
        if not isinstance(value, kind):
            raise _damaged(self.path, f"its structure has no {name}")
        return value

    def _weights(self, count):
        """The genome ends with its weights and, in two of its formats, a number of its own."""
        genome = _Archive(self._genome, self.path)
        tail = {1: 0, 2: 4, 3: 0, 4: 4}[genome.format("genome", 1, 4)]
        begin = len(self._genome) - tail - 4 * count
        if begin < 13 or struct.unpack_from("<Q", self._genome, begin - 8)[0] != count:
            raise _damaged(self.path, "its structure does not describe its weights")
        data = self._genome[begin:begin + 4 * count]
        if numpy is not None:
            weights = numpy.frombuffer(data, "<f4").astype("float32")
            finite = bool(numpy.isfinite(weights).all())
        else:
            weights = array.array("f", data)
            if sys.byteorder == "big":
                weights.byteswap()
            finite = all(map(math.isfinite, weights))
        if not finite:
            raise _damaged(self.path, "a weight is not finite")
        return weights

    def __repr__(self):
        return f"<Network {self.path}: fitness {self.fitness}, generation {self.generation}>"


def _shaped(values, shape):
    if numpy is not None:
        return values.reshape(shape)
    if len(shape) < 2:
        return list(values) if shape else values[0]
    step = math.prod(shape[1:])
    return [_shaped(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def _preparation(archive):
    """As `cambrian convert` writes it into the metadata of tensors."""
    found = archive.format("preparation", 1, 4)
    names = ("shift", "scale")
    inputs, outputs = [], []
    for _ in range(archive.count(32)):
        column = archive.text()
        inputs.append({"column": column, **dict(zip((*names, "factor"), archive.words("ddd")))})
    for _ in range(archive.count(32)):
        name = archive.text()
        outputs.append({"name": name, **dict(zip(names, archive.words("dd"))), "current": archive.text()})
    classes = list(archive.words(f"{archive.count(8)}d"))
    result = {"inputs": inputs, "outputs": outputs, "classes": classes, "sequence_rows": archive.words("q")[0]}
    if found > 1:
        labels = [archive.text() for _ in range(archive.count(8))]
        ahead, missing = archive.words("q")[0], archive.words("B")[0]
        ways = ("error", "drop", "previous", "mean", "median")
        if missing >= len(ways):
            archive.fail("missing values are treated in an unknown way")
        result.update({"labels": labels} if labels else {}, ahead=ahead)
        if missing > 0:
            result["missing_values"] = ways[missing]
        if ways[missing] in ("mean", "median"):
            for entry in inputs:
                entry["fill"] = archive.words("d")[0]
    flags = archive.words("B")[0] if found == 4 else int(found == 3)
    if flags > 7:
        archive.fail("its preparation has flags that are not known")
    result.update({key: True for bit, key in ((1, "logits"), (2, "shown")) if flags & bit})
    if flags & 4:
        result["tokenizer"] = "%016x%016x" % archive.words("QQ")
    archive.finish()
    return result


# Individuals.

RECIPES = ("sample", "carry", "vary")
STATUSES = ("ok", "non_finite", "failed")
LARGEST_BLOCK = 1 << 16
MAX_INDIVIDUALS = 5_000_000
# Of a container of individuals all but the content of its sections, about and columns.
BLOCK_TABLE = 24 + 4 + len("individuals") + 2 * (4 + 25) + len("about") + len("columns") + 8


def _individuals(path):
    """All blocks of the file; one that is being written is left out."""
    with _in_memory(path):
        return _all_blocks(memoryview(_bytes_of(path, LARGEST_INDIVIDUALS, _check_begin)), path)


def _all_blocks(data, path):
    limits = {"about": 1024, "columns": 14 * (9 + 8 * LARGEST_BLOCK)}
    lists, at, head, newest = None, 0, None, -1
    while (length := _block_length(data[at:], path)) is not None:
        _, sections = _container(data[at:at + length], path, limits)
        room = MAX_INDIVIDUALS - (len(lists["id"]) if lists else 0)
        flags, block = _block(_Archive(sections["about"], path), memoryview(sections["columns"]), room)
        if block is None:
            raise CambrianError(f"{path} holds more than {MAX_INDIVIDUALS} individuals (too many for a table in "
                                "memory) print a part of them: cambrian individuals RUN --generation A-B")
        if lists is None:
            head, lists = flags, {column: [] for column in block}
        if flags != head or (at == 0) != (not block["id"]) or (block["id"] and block["id"][0] <= newest):
            raise _damaged(path, "its generations do not follow each other")
        newest = block["id"][-1] if block["id"] else newest
        for column, values in block.items():
            lists[column] += values
        at += length
    if lists is None:
        raise CambrianError(f"{path} cannot be read (it has no beginning) wait until its run has begun, or restore it")
    return Table(lists)


def _block(about, data, room):
    """What all blocks have alike, and the columns of this one; None where there is no room for them."""
    species = about.format("block of individuals", 1, 2) > 1
    generation = about.words("Q")[0]
    islands = about.flag()
    count, first = about.words("IQ")
    about.finish()
    if count > LARGEST_BLOCK:
        about.fail(f"it claims {count} individuals")
    if count > room:
        return (islands, species), None
    columns = []
    for _ in range(13 if species else 12):
        values, data = _unpacked(data, count, about)
        columns.append(values)
    if len(data) > 0:
        about.fail("it has more than its columns")
    gaps, recipe, first_parent, second_parent, status, fitness, evaluated = columns[:7]
    steps, parameters, redrawn, origin, island = columns[7:12]
    if any(gap < 1 for gap in gaps) or (count and gaps[0] != 1):
        about.fail("its individuals are out of order")
    ids, last = [], first - 1
    for gap in gaps:
        last += gap
        ids.append(last)
    if (any(value >= len(RECIPES) for value in recipe) or any(value >= len(STATUSES) for value in status)
            or any(value > 1 for value in evaluated)
            or any(b > i or c > i or (c > 0 and b == 0) or o > i
                   for i, b, c, o in zip(ids, first_parent, second_parent, origin))):
        about.fail("an individual has a value that cannot be")
    block = {
        "generation": [generation] * count, "id": ids, "recipe": [RECIPES[value] for value in recipe],
        "parents": [tuple(i - back for back in backs if back > 0)
                    for i, *backs in zip(ids, first_parent, second_parent)],
        "status": [STATUSES[value] for value in status],
        "fitness": list(struct.unpack(f"<{count}d", struct.pack(f"<{count}Q", *fitness))),
        "evaluations": evaluated, "env_steps": [value if was else 0 for value, was in zip(steps, evaluated)],
        "parameters": [value if was else None for value, was in zip(parameters, evaluated)],
        "redrawn": [value if was else 0 for value, was in zip(redrawn, evaluated)],
        "origin": [i - back for i, back in zip(ids, origin)],
    }
    if islands:
        block["island"] = island
    if species:
        block["species"] = [value or None for value in columns[12]]
    return (islands, species), block


def _unpacked(data, count, about):
    """A column of a block: the least value, how many bytes the others have more, and these bytes by their places."""
    if len(data) < 9:
        about.fail("it has too few columns")
    base, planes = struct.unpack_from("<QB", data)
    end = 9 + planes * count
    if planes > 8 or end > len(data):
        about.fail("it has too few columns")
    values = [base] * count
    for plane in range(planes):
        begin = 9 + plane * count
        values = [value + (byte << (8 * plane)) for value, byte in zip(values, data[begin:begin + count])]
    return [value & MASK for value in values], data[end:]


def _lineage(individuals, birth, path):
    lists = individuals.lists
    place = {of: at for at, of in enumerate(lists["id"])}
    if birth not in place:
        raise CambrianError(f"birth {birth} is not in {path} (only those are logged whom log.individuals names, or the "
                            "run has not come so far) name one of run.individuals")

    def origin(of):
        return lists["origin"][place[of]] if of in place else of

    depths = {origin(birth): 0}
    ahead = [origin(birth)]
    while ahead:  # Births a step further back, none twice: each has its least depth.
        found = {}
        for child in ahead:
            for parent in lists["parents"][place[child]] if child in place else ():
                if origin(parent) not in depths:
                    found[origin(parent)] = depths[child] + 1
        depths.update(found)
        ahead = list(found)
    known = sorted(of for of in depths if of in place)
    rows = {name: [lists[name][place[of]] for of in known] for name in
            ("id", "generation", "recipe", "parents", "fitness", "parameters")}
    rows["parents"] = [tuple(map(origin, parents)) for parents in rows["parents"]]
    rows["parameters"] = [value or 0 for value in rows["parameters"]]
    rows["depth"] = [depths[of] for of in known]
    return Table(rows)


# Containers and archives.

def container(path):
    """Kind and sections (name → bytes) of a .cmb file of one container: best.cmb, checkpoint.cmb."""
    path = os.fspath(path)
    with _in_memory(path):
        return _container(memoryview(_bytes_of(path, LARGEST_FILE, _check_whole)), path)


MAGIC = b"CAMBRIAN"
FREELY_UNPACKED, LARGEST_EXPANSION, LARGEST_RATIO = 64 << 20, 64, 1 << 16


class _Archive:
    """Takes values from bytes; every count is checked against what is left."""

    def __init__(self, data, path):
        self._data, self._path, self._at = memoryview(data), path, 1
        if self._data[:1] != b"\1":
            self.fail("it does not begin like an archive")

    def fail(self, why):
        raise _damaged(self._path, why)

    def words(self, layout):
        layout = "<" + layout
        begin, self._at = self._at, self._at + struct.calcsize(layout)
        if self._at > len(self._data):
            self.fail("it ends too early")
        return struct.unpack_from(layout, self._data, begin)

    def count(self, smallest):
        count = self.words("Q")[0]
        if count > (len(self._data) - self._at) // smallest:
            self.fail(f"a count of {count} does not fit into the bytes that are left")
        return count

    def text(self):
        # Names of columns may be of any encoding.
        return self.words(f"{self.count(1)}s")[0].decode("utf-8", "surrogateescape")

    def flag(self):
        value = self.words("B")[0]
        if value > 1:
            self.fail("a truth value is neither 0 nor 1")
        return value == 1

    def format(self, what, oldest, newest):
        found = self.words("I")[0]
        if not oldest <= found <= newest:
            raise CambrianError(f"{self._path} holds a {what} of format {found} (this reader knows {oldest} to "
                                f"{newest}) use the cambrian_read.py of the version that wrote it")
        return found

    def finish(self):
        if self._at != len(self._data):
            self.fail(f"{len(self._data) - self._at} bytes are left over")


def _check_begin(begin, size, path):
    if begin[:8] != MAGIC[:len(begin)]:
        raise _damaged(path, "it is not a Cambrian file")


def _check_whole(begin, size, path):
    _check_begin(begin, size, path)
    if len(begin) == BEGIN and struct.unpack_from("<Q", begin, 16)[0] != size:
        raise _damaged(path, "its length is not the one it states")


def _head(data, path):
    """Kind, whole length, sections (name, stored, plain, codec, checksum) and the length of the table itself; None
    where the data end within it."""
    at = 0

    def words(layout):
        nonlocal at
        begin, at = at, at + struct.calcsize("<" + layout)
        if at > len(data):
            raise EOFError
        return struct.unpack_from("<" + layout, data, begin)

    def text():
        length = words("I")[0]
        if length > 255:
            raise _damaged(path, "a name is too long")
        return words(f"{length}s")[0].decode("utf-8", "surrogateescape")

    _check_begin(data[:8], len(data), path)
    try:
        version, count, length = words("8xIIQ")
        if version != 1:
            raise _damaged(path, f"it has format version {version}, this file reads 1")
        if count > 1 << 16:
            raise _damaged(path, "it has too many sections")
        kind = text()
        entries = [(text(), *words("QQBQ")) for _ in range(count)]
        checksum = words("Q")[0]
    except EOFError:
        return None
    if checksum != _hash64(bytes(data[:at - 8])):
        raise _damaged(path, "its table is damaged")
    return kind, length, entries, at


def _block_length(data, path):
    """Bytes of the block of individuals at the beginning; None where there is none, or not all of it."""
    head = _head(data[:BLOCK_TABLE], path)
    if head is None and len(data) < BLOCK_TABLE:
        return None
    if head is None or head[0] != "individuals" or [entry[0] for entry in head[2]] != ["about", "columns"]:
        raise CambrianError(f"{path} holds no individuals (it is damaged, or another file) name the directory of a "
                            "run, or restore it from a good copy")
    if head[1] != BLOCK_TABLE + sum(entry[1] for entry in head[2]):
        raise _damaged(path, "its length is not the one it states")
    return head[1] if head[1] <= len(data) else None


def _container(data, path, limits=None):
    head = _head(data, path)
    if head is None:
        raise _damaged(path, "it ends too early")
    kind, length, entries, at = head
    if length != len(data):
        raise _damaged(path, "its length is not the one it states")
    sections, stored_sum, plain_sum = {}, 0, 0
    for name, stored, plain, codec, checksum in entries:
        packed, at = data[at:at + stored], at + stored
        if at > len(data):
            raise _damaged(path, "it ends too early")
        if name in sections:
            raise _damaged(path, "a section stands twice")
        if _hash64(bytes(packed)) != checksum:
            raise _damaged(path, f"section {name!r} is damaged")
        if codec > 1:
            raise _damaged(path, "a section's codec is unknown")
        if limits is not None and plain > limits.get(name, 0):
            raise _damaged(path, f"section {name!r} claims {plain} bytes")
        if codec == 0:
            if plain != stored:
                raise _damaged(path, f"section {name!r} states two lengths")
            sections[name] = bytes(packed)
            continue
        stored_sum, plain_sum = stored_sum + stored, plain_sum + plain
        if plain // LARGEST_RATIO > stored or (plain_sum > FREELY_UNPACKED
                                               and plain_sum // LARGEST_EXPANSION > stored_sum):
            raise _damaged(path, f"section {name!r} of {stored} bytes claims to unpack to {plain}")
        if _zstd_content(packed) != plain:
            raise _damaged(path, f"section {name!r} does not decompress")
        unpacked = _decompress(bytes(packed), plain, path)
        if unpacked is None or len(unpacked) != plain:
            raise _damaged(path, f"section {name!r} does not decompress")
        sections[name] = unpacked
    if at != len(data):
        raise _damaged(path, "bytes follow its last section")
    return kind, sections


# Files.

BEGIN = 24


def _bytes_of(path, limit, check=None):
    """All bytes of a file, the first of which are checked before the rest is read."""
    try:
        # A pipe that nobody writes to is not waited for.
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise CambrianError(f"{path} cannot be read ({error.strerror}) name an existing file") from None
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        raise CambrianError(f"{path} cannot be read (it is no regular file) name one")
    with os.fdopen(file, "rb") as opened:
        if status.st_size > limit:
            raise CambrianError(f"{path} cannot be read (it has {status.st_size} bytes, at most {limit} are read) name "
                                "another one")
        try:
            if check is not None:
                check(opened.read(BEGIN), status.st_size, path)
                opened.seek(0)
            return opened.read(status.st_size)
        except OSError as error:
            raise CambrianError(f"{path} cannot be read ({error.strerror}) check the disk") from None


def _text(what, data):
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(what, f"byte {error.start} is no UTF-8") from None


def _json_file(path):
    return _json_text(_bytes_of(path, LARGEST_JSON), path, dict)


def _json_text(text, what, kind):
    def refuse(constant):
        raise ValueError(f"{constant} is no number of JSON")

    try:
        text = text if isinstance(text, str) else _text(what, text)
        with _in_memory(what):
            value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise _damaged(what, error) from None
    if not isinstance(value, kind):
        raise _damaged(what, f"it is no {kind.__name__}")
    return value


# Zstandard frames (RFC 8878), by whatever is there.

LARGEST_WINDOW = 23  # The logarithm to base 2: writers use no larger one.


def _zstd_content(frame):
    """How much a frame says that it unpacks to; None where these bytes are no whole frame, or it does not say. Writers
    do, and unpackers give no more."""
    if len(frame) < 5 or bytes(frame[:4]) != b"\x28\xb5\x2f\xfd":
        return None
    flags = frame[4]
    single = flags >> 5 & 1
    width = (1 if single else 0, 2, 4, 8)[flags >> 6]
    begin = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    if width == 0 or begin + width > len(frame):
        return None
    content = int.from_bytes(frame[begin:begin + width], "little") + (256 if width == 2 else 0)
    at, last = begin + width, False
    while not last:
        if at + 3 > len(frame):
            return None
        head = int.from_bytes(frame[at:at + 3], "little")
        last = head & 1 == 1
        at += 3 + (1 if head >> 1 & 3 == 1 else head >> 3)  # Of a byte that is repeated one is there.
    return content if at + (4 if flags & 4 else 0) == len(frame) else None


def _by_python(data, plain):
    from compression import zstd  # From Python 3.14 on.
    options = {zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW}
    unpacker = zstd.ZstdDecompressor(options=options)
    try:
        result = unpacker.decompress(data, plain + 1)
    except zstd.ZstdError:
        return None
    return result if unpacker.eof and not unpacker.unused_data else None


def _by_module(data, plain):
    import zstandard
    try:
        return zstandard.ZstdDecompressor(max_window_size=1 << LARGEST_WINDOW).decompress(data, max_output_size=plain)
    except zstandard.ZstdError:
        return None


@functools.lru_cache(None)
def _library(*names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    raise ImportError(names[0])


def _by_library(data, plain):
    library = _library("libzstd.so.1", "libzstd.1.dylib", "libzstd.dll")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    room = ctypes.create_string_buffer(max(plain, 1))
    return room.raw[:plain] if library.ZSTD_decompress(room, plain, data, len(data)) == plain else None


def _by_program(data, plain):
    program = shutil.which("zstd")
    if program is None:
        raise ImportError("zstd")
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        with subprocess.Popen([program, "-d", "-c", "-q", "--memory=8MB"], stdin=file, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            result = process.stdout.read(plain + 1)
            process.stdout.close()  # More than was said is not waited for.
    return result if process.returncode == 0 else None


DECOMPRESSORS = [_by_python, _by_module, _by_library, _by_program]


def _decompress(data, plain, path):
    """The content of a frame; None where it is damaged."""
    for decompress in DECOMPRESSORS:
        try:
            return decompress(data, plain)
        except ImportError:
            pass
    raise CambrianError(f"{path} cannot be unpacked (there is neither the module zstandard nor the library libzstd nor "
                        "the program zstd) install one: pip install zstandard")


# XXH3-64, the checksum of containers.

MASK = (1 << 64) - 1
PRIME32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
PRIME64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d"
    "8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc"
    "8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def _hash64(data):
    if len(data) < 1 << 16:
        return _xxh3(data)
    try:  # The same sooner.
        import xxhash
        return xxhash.xxh3_64_intdigest(data)
    except ImportError:
        pass
    try:
        library = _library("libxxhash.so.0", "libxxhash.0.dylib", "xxhash.dll")
        library.XXH3_64bits.restype = ctypes.c_uint64
        library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        return library.XXH3_64bits(data, len(data))
    except (ImportError, AttributeError):
        return _xxh3(data)


def _word(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def _folded(a, b):
    product = a * b
    return (product & MASK) ^ (product >> 64)


def _mixed(data, at, secret):
    return _folded(_word(data, at) ^ _word(SECRET, secret), _word(data, at + 8) ^ _word(SECRET, secret + 8))


def _avalanche(value):
    value &= MASK
    value = (value ^ value >> 37) * 0x165667919E3779F9 & MASK
    return value ^ value >> 32


def _old_avalanche(value):
    value = (value ^ value >> 33) * PRIME64[1] & MASK
    value = (value ^ value >> 29) * PRIME64[2] & MASK
    return value ^ value >> 32


def _xxh3(data):
    """XXH3 with 64 bits and the seed 0, after the description of its author (github.com/Cyan4973/xxHash)."""
    length = len(data)
    if length == 0:
        return _old_avalanche(_word(SECRET, 56) ^ _word(SECRET, 64))
    if length <= 3:
        combined = data[0] << 16 | data[length >> 1] << 24 | data[-1] | length << 8
        return _old_avalanche(combined ^ (_word(SECRET, 0) ^ _word(SECRET, 0) >> 32) & 0xFFFFFFFF)
    if length <= 8:
        low, high = int.from_bytes(data[-4:], "little"), int.from_bytes(data[:4], "little")
        value = (low + (high << 32)) ^ _word(SECRET, 8) ^ _word(SECRET, 16)
        value ^= _rotated(value, 49) ^ _rotated(value, 24)
        value = value * 0x9FB21C651E98DF25 & MASK
        value = (value ^ (value >> 35) + length) * 0x9FB21C651E98DF25 & MASK
        return value ^ value >> 28
    if length <= 16:
        low = _word(data, 0) ^ _word(SECRET, 24) ^ _word(SECRET, 32)
        high = _word(data, length - 8) ^ _word(SECRET, 40) ^ _word(SECRET, 48)
        return _avalanche(length + int.from_bytes(low.to_bytes(8, "little"), "big") + high + _folded(low, high))
    if length <= 128:
        total = length * PRIME64[0]
        for i in range((length - 1) // 32, -1, -1):
            total += _mixed(data, 16 * i, 32 * i) + _mixed(data, length - 16 * (i + 1), 32 * i + 16)
        return _avalanche(total)
    if length <= 240:
        total = length * PRIME64[0] + sum(_mixed(data, 16 * i, 16 * i) for i in range(8))
        total = _avalanche(total) + sum(_mixed(data, 16 * i, 16 * i - 125) for i in range(8, length // 16))
        return _avalanche(total + _mixed(data, length - 16, 119))
    return _xxh3_long(data)


def _rotated(value, bits):
    return (value << bits | value >> 64 - bits) & MASK


def _xxh3_long(data):
    lanes = [PRIME32[2], *PRIME64[:4], PRIME32[1], PRIME64[4], PRIME32[0]]
    secrets = [struct.unpack_from("<8Q", SECRET, 8 * i) for i in range(16)]
    scramble = struct.unpack_from("<8Q", SECRET, 128)
    length = len(data)

    def add(at, secret):
        words = struct.unpack_from("<8Q", data, at)
        for i in range(8):
            key = words[i] ^ secret[i]
            lanes[i] += (key & 0xFFFFFFFF) * (key >> 32)
            lanes[i ^ 1] += words[i]

    stripes = (length - 1) // 64
    for stripe in range(stripes):
        add(64 * stripe, secrets[stripe % 16])
        if stripe % 16 == 15:
            for i in range(8):
                lane = lanes[i] & MASK
                lanes[i] = (lane ^ lane >> 47 ^ scramble[i]) * PRIME32[0] & MASK
    add(length - 64, struct.unpack_from("<8Q", SECRET, 121))
    total = length * PRIME64[0]
    for i in range(4):
        total += _folded(lanes[2 * i] & MASK ^ _word(SECRET, 11 + 16 * i),
                         lanes[2 * i + 1] & MASK ^ _word(SECRET, 19 + 16 * i))
    return _avalanche(total)
