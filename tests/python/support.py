"""What the tests of the reader share: the program, small runs, and plain readers of other formats to compare with."""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "files"
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ""
sys.path.insert(0, str(ROOT / "configs" / "python"))
import cambrian_read  # noqa: E402  (found by the line before)


def cambrian(*arguments, code=0):
    """What a command prints."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != code:
        raise AssertionError(f"cambrian {' '.join(map(str, arguments))} ended with {done.returncode}: "
                             f"{done.stdout}{done.stderr}")
    return done.stdout


def settings(**keys):
    """--set of each key; __ stands for a dot."""
    return [word for key, value in keys.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


class FolderTest(unittest.TestCase):
    """A test with a folder of its own, which those of its class share."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="cambrian-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    @classmethod
    def evolve(cls, name, config, *more, **keys):
        directory = cls.folder / name
        keys = {"engine__backend": "cpu", "run__directory": directory, **keys}
        cambrian("evolve", ROOT / "configs" / config, "-q", *settings(**keys), *more)
        return directory


def safetensors(path):
    """Metadata, and each tensor of float32 as its shape and its numbers in order."""
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + length])
    metadata = {key: value for key, value in header.pop("__metadata__", {}).items()}
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        assert entry["dtype"] == "F32", entry
        tensors[name] = (tuple(entry["shape"]), data[begin:end])
    return metadata, tensors


def flat(tensor):
    """Numbers of lists of lists, or of an array, in order."""
    if hasattr(tensor, "tolist"):
        tensor = tensor.tolist()
    if not isinstance(tensor, list):
        return [tensor]
    return [number for part in tensor for number in flat(part)]


def shape_of(tensor):
    if hasattr(tensor, "shape"):
        return tuple(tensor.shape)
    shape = []
    while isinstance(tensor, list):
        shape.append(len(tensor))
        tensor = tensor[0] if tensor else 0.0
    return tuple(shape)


def text_bytes(text):
    return struct.pack("<I", len(text)) + text


def sealed(kind, sections):
    """A container with right checksums and sections that are not packed."""
    table = b"CAMBRIAN" + struct.pack("<II", 1, len(sections))
    rest = text_bytes(kind)
    for name, content in sections.items():
        rest += text_bytes(name.encode()) + struct.pack("<QQBQ", len(content), len(content), 0,
                                                        cambrian_read._xxh3(content))
    length = len(table) + 8 + len(rest) + 8 + sum(map(len, sections.values()))
    table += struct.pack("<Q", length) + rest
    return table + struct.pack("<Q", cambrian_read._xxh3(table)) + b"".join(sections.values())


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
