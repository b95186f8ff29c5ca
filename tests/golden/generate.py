#!/usr/bin/env python3
"""Checks the golden cases against plain formulas in float64, and makes new ones.

  generate.py --check [DIR]                 recomputes everything that DIR (this folder) holds
  generate.py NAME... [--seed N] -o DIR     writes cases of DIR/index.json, or of this folder's, with new numbers

Needs PyTorch (Debian: python3-torch). README.md tells what a file holds and how to add a case.
"""
import argparse
import json
import math
import pathlib
import struct
import sys
import zlib

import numpy
import torch

import formulas
import layers

HERE = pathlib.Path(__file__).resolve().parent
# Sums in another order differ by a few units in the last place.
LIMIT = 1e-12
# Cases whose inputs are numbers that float32 does not hold: float32 backends begin with rounded ones.
NOT_IN_FLOAT32 = ("layer_norm_large_mean", "loss_bce_with_logits")
# Inputs that are not drawn around 0 with deviation 1: their mean and deviation.
SPREADS = {"layer_norm_large_mean": (1000.0, 1.0), "loss_bce_with_logits": (0.0, 40.0)}
TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U16": "<u2", "U8": "|u1"}
NUMBER_FORMATS = "number_formats"
WEIGHT_FORMATS = "weight_formats"
FORMAT_FILES = (NUMBER_FORMATS, WEIGHT_FORMATS)


def read(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], TYPES[entry["dtype"]])
            .reshape(entry["shape"]).copy() for name, entry in header.items()}


def write(path, tensors):
    names, header, offset, parts = {text: name for name, text in TYPES.items()}, {}, 0, []
    for name, tensor in tensors.items():
        part = numpy.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": names[tensor.dtype.str], "shape": list(tensor.shape), "data_offsets": [offset, offset + len(part)]}
        offset += len(part)
        parts.append(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def differentiated(function, stored, names, output):
    """The output of a function of the tensors of these names, and its gradients by autograd."""
    tensors = {name: torch.tensor(stored[name]) for name in names}
    real = [name for name in names if tensors[name].is_floating_point()]
    for name in real:
        tensors[name].requires_grad_(True)
    result = function(tensors)
    if "upstream" not in stored and result.dim() > 0:  # A new case.
        stored["upstream"] = drawn(result.shape)
    weights = torch.tensor(stored["upstream"]) if result.dim() > 0 else torch.tensor(1.0, dtype=torch.float64)
    gradients = torch.autograd.grad(result, [tensors[name] for name in real], weights)
    found = {output: result.detach().reshape(result.shape or (1,)).numpy()}
    found.update({"grad." + name: gradient.numpy() for name, gradient in zip(real, gradients)})
    return found


def prefixed(prefix, tensors):
    return {name[len(prefix):]: value for name, value in tensors.items() if name.startswith(prefix)}


def computed(case, stored):
    """What a case must hold besides its inputs, from those."""
    kind = case["kind"]
    if kind == "layer":
        names = [name for name in stored if name == "input" or name.startswith("param.")]
        return differentiated(lambda t: layers.forward(case["layer"], t["input"], prefixed("param.", t)), stored, names, "output")
    if kind == "op" and case["op"] == "selective_scan":
        names = [name for name in stored if name == "input" or name.startswith("operand.")]
        how = case["attributes"]["discretization"]
        return differentiated(lambda t: layers.selective_scan(t["input"], **prefixed("operand.", t), discretization=how),
                              stored, names, "output")
    if kind == "loss":
        target = torch.tensor(stored["target"])
        return differentiated(lambda t: formulas.loss(case["loss"], t["prediction"], target), stored, ["prediction"], "loss")
    if kind == "optimizer":
        values = formulas.trajectory(case["optimizer"], torch.tensor(stored["initial"]), torch.tensor(stored["gradients"]))
        return {"trajectory": values.numpy()}
    raise SystemExit(f"{case['name']}: no formula for the kind {kind}")


def computed_formats(stored):
    found = {}
    for name, (exponent_bits, mantissa_bits, _) in formulas.FORMATS.items():
        bits = 1 + exponent_bits + mantissa_bits
        codes = formulas.encoded(name, stored[name + ".value"]).astype("<u2" if bits == 16 else "|u1")
        found[name + ".code"], found[name + ".decoded"] = codes, formulas.decoded(name, codes)
        if bits <= 8:
            found[name + ".table"] = formulas.decoded(name, numpy.arange(1 << bits))
    return found


def as_bytes(numbers, bits):
    """Whole numbers as bytes, the lowest first: [numbers, bytes of one]."""
    width = max(1, bits // 8)
    data = b"".join(number.to_bytes(width, "little") for number in numbers)
    return numpy.frombuffer(data, "|u1").reshape(len(numbers), width)


def computed_weight_formats(stored):
    found = {}
    for name, (kind, bits, shared) in formulas.STORED.items():
        for scales in formulas.choices(name):
            codes, scale, zeros, decoded = formulas.stored_matrix(name, scales, stored[name + ".value"])
            found[f"{name}.{scales}.code"], found[f"{name}.{scales}.decoded"] = as_bytes(codes, bits), decoded
            if shared != "none":
                found[f"{name}.{scales}.scale"] = scale
            if kind == "affine":
                found[f"{name}.{scales}.zero_point"] = as_bytes(zeros, bits)
    return found


COMPUTED = {NUMBER_FORMATS: computed_formats, WEIGHT_FORMATS: computed_weight_formats}
INPUTS = ("input", "upstream", "prediction", "target", "initial", "gradients")


def is_input(name):
    return name in INPUTS or name.startswith(("param.", "operand.")) or name.endswith(".value")


def difference(found, stored):
    """The largest |found − stored| / max(1, |stored|)."""
    if found.shape != stored.shape:
        return math.inf
    return float(numpy.max(numpy.abs(found - stored) / numpy.maximum(1.0, numpy.abs(stored)), initial=0.0))


def check(directory):
    """Whether all cases of a folder are what the formulas say; prints the largest difference of each tensor."""
    right = True

    def tell(name, limit, differences):
        nonlocal right
        good = all(value <= limit for value in differences.values())
        right &= good
        worst = max(differences, key=differences.get)
        print(f"{name:28} {differences[worst]:9.2e} {worst}{'' if good else f'  BEYOND {limit:g}'}")
        for tensor, value in differences.items():
            if not value <= limit:
                print(f"    {tensor}: {value:.2e}")

    cases = json.loads((directory / "index.json").read_text())["cases"]
    for case in cases:
        stored = read(directory / f"{case['name']}.safetensors")
        given = {name: value for name, value in stored.items() if is_input(name)}
        found = computed(case, given)
        wanted = stored.keys() - given.keys()
        differences = {name: difference(found[name], stored[name]) for name in sorted(wanted & found.keys())}
        differences.update({f"{name} (on one side only)": math.inf for name in sorted(wanted ^ found.keys())})
        for name, value in given.items():
            rounded = value.dtype == numpy.float64 and (value.astype(numpy.float32) != value).any()
            if rounded and case["name"] not in NOT_IN_FLOAT32:
                differences[f"{name} (not in float32)"] = math.inf
        tell(case["name"], LIMIT, differences)
    for name in FORMAT_FILES:
        if (directory / f"{name}.safetensors").exists():
            stored = read(directory / f"{name}.safetensors")
            found = COMPUTED[name](stored)
            wanted = {tensor for tensor in stored if not is_input(tensor)}
            tell(name, 0.0, {tensor: 0.0 if tensor in wanted & found.keys() and same_bits(found[tensor], stored[tensor]) else math.inf
                             for tensor in sorted(wanted | found.keys())})
    print(f"{len(cases)} cases: {'all as the formulas say' if right else 'NOT as the formulas say'}")
    return right


def same_bits(a, b):
    nan = numpy.isnan(a) & numpy.isnan(b)
    return a.shape == b.shape and bool((nan | ((a == b) & (numpy.signbit(a) == numpy.signbit(b)))).all())


def drawn(shape, mean=0.0, deviation=1.0):
    """Normal numbers that float32 holds exactly."""
    return (mean + deviation * torch.randn(tuple(shape))).to(torch.float32).double().numpy()


def drawn_parameter(shape):
    fan_in = math.prod(shape[1:])
    return drawn(shape, 0.0, 1 / math.sqrt(fan_in) if len(shape) > 1 else 0.5)


def drawn_inputs(case, shape):
    """The inputs of a new case; `shape` is that of the first tensor of its kind, in README.md's table."""
    spread = SPREADS.get(case["name"], (0.0, 1.0))
    kind = case["kind"]
    if kind == "layer":
        layer = case["layer"]
        ids = layer["type"] == "embedding"
        x = torch.randint(layer["vocabulary"], tuple(shape)).numpy() if ids else drawn(shape, *spread)
        return {"input": x, **{"param." + name: drawn_parameter(of) for name, of in layers.parameter_shapes(layer).items()}}
    if kind == "op":
        batch, length, channels, states = shape
        sequence = (batch, length, states)
        return {"input": drawn((batch, length, channels), *spread), "operand.raw_delta": drawn((batch, length, channels)),
                "operand.a_log": drawn((channels, states), 0.0, 0.5), "operand.b": drawn(sequence),
                "operand.c": drawn(sequence), "operand.skip": drawn((channels,))}
    if kind == "loss":
        target = drawn(shape)
        if case["loss"]["type"] == "cross_entropy":
            target = torch.randint(shape[-1], tuple(shape[:-1])).numpy()
        elif case["loss"]["type"] == "bce_with_logits":
            target = (target > 0).astype(numpy.float64)
        return {"prediction": drawn(shape, *spread), "target": target}
    return {"initial": drawn(shape[1:]), "gradients": drawn(shape)}


def stored_shape(case):
    """The shape of the case of this name that is here already."""
    path = HERE / f"{case['name']}.safetensors"
    if not path.exists():
        raise SystemExit(f"{case['name']} is a new case (its file tells no shape yet): say --shape")
    stored = read(path)
    first = next(name for name in ("input", "prediction", "gradients") if name in stored)
    return [*stored[first].shape, *([stored["operand.a_log"].shape[1]] if case["kind"] == "op" else [])]


def drawn_formats(count=3000):
    """For each format: numbers of all its sizes and beyond, ties, and what is next to zero."""
    found = {}
    for name, (exponent_bits, mantissa_bits, _) in formulas.FORMATS.items():
        numbers = formulas.decoded(name, numpy.arange(1 << exponent_bits + mantissa_bits))
        numbers = numbers[numpy.isfinite(numbers)]
        low, high = numpy.log2(float(numbers[1])) - 2, min(127.0, numpy.log2(float(numbers[-1])) + 2)
        values = 2.0 ** (low + (high - low) * torch.rand(count).numpy()) * numpy.sign(torch.randn(count).numpy())
        ties = (numbers[:-1].astype(numpy.float64) + numbers[1:]) / 2
        ties = ties[:: max(1, len(ties) // count)]
        found[name + ".value"] = numpy.concatenate((values, ties, -ties, [0.0, -0.0])).astype(numpy.float32)
    return found


def tied(name, count):
    """Numbers that lie in the middle between two codes where `count` of them share a scale that is 1."""
    kind, bits, _ = formulas.STORED[name]
    if kind in ("float", "micro"):
        numbers = formulas.decoded(formulas.SHORT.get(name, name), numpy.arange(1 << bits - 1)).astype(numpy.float64)
        numbers = numbers[numpy.isfinite(numbers)]
        middles = (numbers[:-1] + numbers[1:]) / 2
        drawn_middles = middles[torch.randint(len(middles), (count - 1,)).numpy()]
        return numpy.concatenate(([numbers[-1]], drawn_middles * signs(count - 1)))
    if kind in ("ternary", "binary"):  # Their mean is 1.
        return numpy.resize([0.5, 1.5], count) * signs(count)
    if kind == "q4_0":
        return numpy.concatenate(([-8.0, 8.0], torch.randint(-8, 8, (count - 2,)).numpy() + 0.5))
    most = min(formulas.largest_of(name), 2**24 - 1) if kind in ("signed", "affine") else 2**20
    low = -((most + 1) // 2) if kind == "affine" else -most
    middles = torch.randint(low, low + most if kind == "affine" else most, (count - 2,)).numpy() + 0.5
    return numpy.concatenate(([low, low + most if kind == "affine" else most], middles))


def signs(count):
    return torch.randint(2, (count,)).numpy() * 2.0 - 1


def drawn_weight_formats(columns=40):
    """A matrix for each format, of a block and a part of one: numbers of both signs, zeros, a block of zeros, of one sign, of the
    other, ties in both blocks, and what is no number."""
    found = {}
    for name, (kind, _, _) in formulas.STORED.items():
        matrix = numpy.concatenate([drawn((1, columns)) for _ in range(7)])
        matrix[1], matrix[2, :formulas.BLOCK] = 0.0, 0.0
        matrix[3], matrix[4] = numpy.abs(matrix[3]), -numpy.abs(matrix[4])
        matrix[5] = numpy.concatenate((tied(name, formulas.BLOCK), tied(name, columns - formulas.BLOCK)))
        # A NaN has many codes where it has any.
        matrix[6, :4] = numpy.inf, -numpy.inf, 0.0 if kind in ("ieee", "float", "micro") else numpy.nan, -0.0
        if name == "q4_0":  # The other of two that are as large comes first.
            matrix[5, formulas.BLOCK:] *= -1
        found[name + ".value"] = matrix.astype(numpy.float32)
    return found


DRAWN = {NUMBER_FORMATS: drawn_formats, WEIGHT_FORMATS: drawn_weight_formats}


def generate(names, directory, seed, shape):
    directory.mkdir(parents=True, exist_ok=True)
    own = directory / "index.json"
    index = json.loads((own if own.exists() else HERE / "index.json").read_text())
    known = {case["name"]: case for case in index["cases"]}
    for name in names or [*known, *FORMAT_FILES]:
        path = directory / f"{name}.safetensors"
        if path.exists():
            raise SystemExit(f"{path} is there already (a case is never changed): take another name or folder")
        torch.manual_seed(zlib.crc32(f"{seed} {name}".encode()))
        if name in FORMAT_FILES:
            stored = DRAWN[name]()
            write(path, {**stored, **COMPUTED[name](stored)})
            continue
        if name not in known:
            raise SystemExit(f"index.json has no case {name} (a case is a row there): add it")
        stored = drawn_inputs(known[name], shape or stored_shape(known[name]))
        results = computed(known[name], stored)
        write(path, {**stored, **results})
    if not own.exists():
        index.update(seed=seed, torch=torch.__version__, cases=[known[name] for name in names or known if name in known])
        own.write_text(json.dumps(index, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to make; all where none is named")
    parser.add_argument("--check", nargs="?", const=HERE, type=pathlib.Path, metavar="DIR")
    parser.add_argument("-o", dest="directory", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", type=lambda text: [int(part) for part in text.split(",")], help="such as 2,3,6, of a new case")
    chosen = parser.parse_args()
    if chosen.check:
        sys.exit(0 if check(chosen.check) else 1)
    if not chosen.directory:
        parser.error("say --check, or -o and a folder for new cases")
    generate(chosen.names, chosen.directory, chosen.seed, chosen.shape)


if __name__ == "__main__":
    main()
