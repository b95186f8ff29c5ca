"""Runs a model of ONNX with nothing but Python: every operator that Cambrian writes, one function each, as the standard
(version 17) says. Real numbers are rounded to their type after every operator."""
import itertools
import math
from array import array

import messages

REAL32, INT32, INT64, TEXT, BOOLEAN, REAL64 = 1, 6, 7, 8, 9, 11


class Tensor:
    rounds = True  # Float32 to its precision; else all real numbers are doubles.

    def __init__(self, kind, shape, data):
        if kind == REAL32 and Tensor.rounds:
            data = list(array("f", data))
        self.kind, self.shape, self.data = kind, tuple(shape), data
        if len(data) != math.prod(self.shape):
            raise ValueError(f"{len(data)} elements in a shape {self.shape}")


def positions(extents, strides, start=0):
    """Of every element of a walk over extents, in row-major order."""
    result = [start]
    for extent, stride in zip(extents, strides):
        steps = [i * stride for i in range(extent)]
        result = [at + step for at in result for step in steps]
    return result


def strides_of(shape):
    strides, size = [], 1
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return strides[::-1]


def broadcast_shape(*shapes):
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for extents in zip(*padded):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise ValueError(f"shapes {shapes} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def spread(tensor, shape):
    if tensor.shape == tuple(shape):
        return tensor.data
    strides = strides_of(tensor.shape)
    own = [0 if extent == 1 else stride for extent, stride in zip(tensor.shape, strides)]
    return [tensor.data[at] for at in positions(shape, [0] * (len(shape) - len(own)) + own)]


def elementwise(function, kind=None):
    def run(node, *operands):
        shape = broadcast_shape(*(operand.shape for operand in operands))
        data = list(map(function, *(spread(operand, shape) for operand in operands)))
        return Tensor(kind or operands[-1].kind, shape, data)
    return run


def guarded(function, otherwise):
    """A function of math whose errors are values."""
    def run(*values):
        try:
            return function(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            return otherwise(*values)
    return run


def quotient(a, b):
    if isinstance(a, int):
        return int(a / b)
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def sign(x):
    return type(x)((x > 0) - (x < 0))


def nearest(x):
    return x if math.isinf(x) or math.isnan(x) else float(round(x))


def attribute(node, name, default=None):
    for entry in node["attribute"]:
        if entry["name"] == name:
            return {2: entry["i"], 3: entry["s"], 7: entry["ints"], 5: entry["g"]}[entry["type"]]
    return default


def lines(shape, axis):
    """Around an axis: elements before it, along it, after it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:])


def along(tensor, axis):
    """Every line of an axis as a list, in order."""
    outer, length, inner = lines(tensor.shape, axis)
    return [tensor.data[(o * length) * inner + i:((o + 1) * length) * inner:inner] if length else []
            for o in range(outer) for i in range(inner)]


def from_lines(all_lines, outer, inner):
    """The way back: elements of lines in row-major order."""
    return [value for o in range(outer) for column in zip(*all_lines[o * inner:(o + 1) * inner]) for value in column]


def reduced(tensor, axes, keep, fold):
    axes = sorted({axis % len(tensor.shape) for axis in axes})
    strides = strides_of(tensor.shape)
    others = [axis for axis in range(len(tensor.shape)) if axis not in axes]
    starts = positions([tensor.shape[a] for a in others], [strides[a] for a in others])
    inner = positions([tensor.shape[a] for a in axes], [strides[a] for a in axes])
    shape = [1 if a in axes else e for a, e in enumerate(tensor.shape) if keep or a not in axes]
    return Tensor(tensor.kind, shape, [fold([tensor.data[s + i] for i in inner]) for s in starts])


def total(values):
    return math.fsum(values) if values and isinstance(values[0], float) and all(map(math.isfinite, values)) else sum(values)


def largest(values):
    return math.nan if any(value != value for value in values) else max(values)


def reduce_sum(node, x, axes):
    return reduced(x, axes.data, attribute(node, "keepdims", 1), total)


def reduce_max(node, x):
    return reduced(x, attribute(node, "axes"), attribute(node, "keepdims", 1), largest)


def arg_max(node, x):
    axis = attribute(node, "axis", 0) % len(x.shape)
    result = reduced(Tensor(INT64, x.shape, x.data), [axis], attribute(node, "keepdims", 1), lambda values: max(range(len(values)), key=values.__getitem__))
    return result


def cum_sum(node, x, axis):
    axis = axis.data[0] % len(x.shape)
    outer, _, inner = lines(x.shape, axis)
    result = []
    for line in along(x, axis):
        line = line[::-1] if attribute(node, "reverse", 0) else line
        sums = list(itertools.accumulate(line))
        if attribute(node, "exclusive", 0):
            sums = [type(line[0])(0)] + sums[:-1]
        result.append(sums[::-1] if attribute(node, "reverse", 0) else sums)
    return Tensor(x.kind, x.shape, from_lines(result, outer, inner))


def top_k(node, x, count):
    axis = attribute(node, "axis", -1) % len(x.shape)
    descending = attribute(node, "largest", 1)
    outer, _, inner = lines(x.shape, axis)
    order = [sorted(range(len(line)), key=lambda i: (-line[i] if descending else line[i], i))[:count.data[0]] for line in along(x, axis)]
    values = [[line[i] for i in chosen] for line, chosen in zip(along(x, axis), order)]
    shape = x.shape[:axis] + (count.data[0],) + x.shape[axis + 1:]
    return Tensor(x.kind, shape, from_lines(values, outer, inner)), Tensor(INT64, shape, from_lines(order, outer, inner))


def reshape(node, x, shape):
    extents = [x.shape[i] if extent == 0 else extent for i, extent in enumerate(shape.data)]
    if -1 in extents:
        known = math.prod(extent for extent in extents if extent != -1)
        extents[extents.index(-1)] = len(x.data) // known
    return Tensor(x.kind, extents, x.data)


def unsqueeze(node, x, axes):
    rank = len(x.shape) + len(axes.data)
    places, rest = {axis % rank for axis in axes.data}, iter(x.shape)
    return Tensor(x.kind, [1 if axis in places else next(rest) for axis in range(rank)], x.data)


def squeeze(node, x, axes):
    places = {axis % len(x.shape) for axis in axes.data}
    if any(x.shape[axis] != 1 for axis in places):
        raise ValueError(f"axes {places} of {x.shape} are not of extent 1")
    return Tensor(x.kind, [extent for axis, extent in enumerate(x.shape) if axis not in places], x.data)


def transpose(node, x):
    order, strides = attribute(node, "perm"), strides_of(x.shape)
    shape = [x.shape[axis] for axis in order]
    return Tensor(x.kind, shape, [x.data[at] for at in positions(shape, [strides[axis] for axis in order])])


def expand(node, x, shape):
    extents = broadcast_shape(x.shape, shape.data)
    return Tensor(x.kind, extents, spread(x, extents))


def slice_(node, x, starts, ends, axes, steps=None):
    strides, shape, start = strides_of(x.shape), list(x.shape), 0
    for i, axis in enumerate(axes.data):
        chosen = range(x.shape[axis])[slice(starts.data[i], max(ends.data[i], -1 << 40) if ends.data[i] > -(1 << 40) else None, steps.data[i] if steps else 1)]
        start += (chosen[0] if len(chosen) else 0) * strides[axis]
        shape[axis], strides[axis] = len(chosen), strides[axis] * chosen.step
    return Tensor(x.kind, shape, [x.data[at] for at in positions(shape, strides, start)])


def pad(node, x, pads, value=None):
    rank = len(x.shape)
    fill = value.data[0] if value else {REAL32: 0.0, REAL64: 0.0, BOOLEAN: False}.get(x.kind, 0)
    shape = [e + pads.data[a] + pads.data[rank + a] for a, e in enumerate(x.shape)]
    strides = strides_of(shape)
    data = [fill] * math.prod(shape)
    first = sum(pads.data[a] * strides[a] for a in range(rank))
    for at, element in zip(positions(x.shape, strides, first), x.data):
        data[at] = element
    return Tensor(x.kind, shape, data)


def concat(node, *parts):
    axis = attribute(node, "axis") % len(parts[0].shape)
    outer = math.prod(parts[0].shape[:axis])
    sizes = [math.prod(part.shape[axis:]) for part in parts]
    data = [value for o in range(outer) for part, size in zip(parts, sizes) for value in part.data[o * size:(o + 1) * size]]
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return Tensor(parts[0].kind, shape, data)


def matmul(node, a, b):
    (m, k), n = a.shape[-2:], b.shape[-1]
    leading = broadcast_shape(a.shape[:-2], b.shape[:-2])
    def starts(tensor, size):
        own = strides_of(tensor.shape[:-2])
        own = [0] * (len(leading) - len(own)) + [0 if e == 1 else s for e, s in zip(tensor.shape[:-2], own)]
        return [at * size for at in positions(leading, own)]
    data = []
    for left, right in zip(starts(a, m * k), starts(b, k * n)):
        rows = [a.data[left + i * k:left + (i + 1) * k] for i in range(m)]
        columns = [b.data[right + j:right + k * n:n] for j in range(n)]
        data += [sum(map(float.__mul__, row, column)) if k else 0.0 for row in rows for column in columns]
    return Tensor(a.kind, leading + (m, n), data)


def checked(index, extent):
    if not -extent <= index < extent:
        raise IndexError(f"index {index} of {extent}")
    return index % extent


def gather(node, x, indices):
    axis = attribute(node, "axis", 0) % len(x.shape)
    outer, length, inner = lines(x.shape, axis)
    chosen = [checked(index, length) * inner for index in indices.data]
    data = [value for o in range(outer) for at in chosen for value in x.data[o * length * inner + at:o * length * inner + at + inner]]
    return Tensor(x.kind, x.shape[:axis] + indices.shape + x.shape[axis + 1:], data)


def gather_nd(node, x, indices):
    if attribute(node, "batch_dims", 0) != 1 or indices.shape[-1] != 1:
        raise ValueError("another GatherND than Cambrian writes")
    batch, length, inner = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    each = len(indices.data) // batch
    data = []
    for row in range(batch):
        for index in indices.data[row * each:(row + 1) * each]:
            start = (row * length + checked(index, length)) * inner
            data += x.data[start:start + inner]
    return Tensor(x.kind, indices.shape[:-1] + x.shape[2:], data)


def gather_elements(node, x, indices):
    axis = attribute(node, "axis", 0) % len(x.shape)
    strides = strides_of(x.shape)
    own = list(strides)
    own[axis] = 0
    data = [x.data[at + checked(index, x.shape[axis]) * strides[axis]] for at, index in zip(positions(indices.shape, own), indices.data)]
    return Tensor(x.kind, indices.shape, data)


def scatter_elements(node, x, indices, updates):
    if attribute(node, "reduction") != "add":
        raise ValueError("another ScatterElements than Cambrian writes")
    axis = attribute(node, "axis", 0) % len(x.shape)
    strides, data = strides_of(x.shape), list(x.data)
    own = list(strides)
    own[axis] = 0
    for at, index, value in zip(positions(indices.shape, own), indices.data, updates.data):
        data[at + checked(index, x.shape[axis]) * strides[axis]] += value
    return Tensor(x.kind, x.shape, data)


def conv(node, x, weights, bias=None):
    group, strides = attribute(node, "group", 1), attribute(node, "strides")
    dilations, pads = attribute(node, "dilations"), attribute(node, "pads")
    rank, (outputs, channels), kernel = len(strides), weights.shape[:2], weights.shape[2:]
    space = [(x.shape[2 + a] + pads[a] + pads[rank + a] - dilations[a] * (kernel[a] - 1) - 1) // strides[a] + 1 for a in range(rank)]
    x_strides, w_strides = strides_of(x.shape), strides_of(weights.shape)
    taps = list(itertools.product(*map(range, kernel)))
    data = []
    for image, output in itertools.product(range(x.shape[0]), range(outputs)):
        first = output // (outputs // group) * channels
        for place in itertools.product(*map(range, space)):
            terms = [bias.data[output]] if bias else []
            for tap in taps:
                at = [o * s + t * d - p for o, s, t, d, p in zip(place, strides, tap, dilations, pads)]
                if any(not 0 <= i < e for i, e in zip(at, x.shape[2:])):
                    continue
                source = image * x_strides[0] + sum(i * s for i, s in zip(at, x_strides[2:]))
                weight = output * w_strides[0] + sum(t * s for t, s in zip(tap, w_strides[2:]))
                terms += [x.data[source + (first + c) * x_strides[1]] * weights.data[weight + c * w_strides[1]] for c in range(channels)]
            data.append(sum(terms))
    return Tensor(x.kind, (x.shape[0], outputs, *space), data)


def softmax(node, x):
    axis = attribute(node, "axis", -1) % len(x.shape)
    outer, _, inner = lines(x.shape, axis)
    result = []
    for line in along(x, axis):
        powers = [math.exp(value - max(line)) for value in line]
        result.append([power / sum(powers) for power in powers])
    return Tensor(x.kind, x.shape, from_lines(result, outer, inner))


def cast(node, x):
    target = attribute(node, "to")
    convert = {REAL32: float, REAL64: float, INT32: int, INT64: int, BOOLEAN: bool}[target]
    return Tensor(target, x.shape, [convert(value) for value in x.data])


def shape_(node, x):
    extents = x.shape[attribute(node, "start", 0):attribute(node, "end")]
    return Tensor(INT64, [len(extents)], list(extents))


def take_step(tensor, axis, step):
    strides = strides_of(tensor.shape)
    shape = tensor.shape[:axis] + tensor.shape[axis + 1:]
    return Tensor(tensor.kind, shape, [tensor.data[at] for at in positions(shape, strides[:axis] + strides[axis + 1:], step * strides[axis])])


def scan(node, scope, *operands):
    body, count = attribute(node, "body"), attribute(node, "num_scan_inputs")
    carries, sequences = list(operands[:-count]), operands[-count:]
    axes, backward = attribute(node, "scan_input_axes"), attribute(node, "scan_input_directions")
    length = sequences[0].shape[axes[0]]
    stacked = [[] for _ in body["output"][len(carries):]]
    for step in range(length):
        rows = [take_step(s, axis, length - 1 - step if back else step) for s, axis, back in zip(sequences, axes, backward)]
        values = dict(scope)
        values.update(zip((value["name"] for value in body["input"]), carries + rows))
        results = run_nodes(body, values)
        carries = results[:len(carries)]
        for parts, result in zip(stacked, results[len(carries):]):
            parts.append(result)
    results = list(carries)
    for i, parts in enumerate(stacked):
        axis = attribute(node, "scan_output_axes")[i]
        if attribute(node, "scan_output_directions")[i]:
            parts.reverse()
        wide = [Tensor(part.kind, part.shape[:axis] + (1,) + part.shape[axis:], part.data) for part in parts]
        results.append(concat({"attribute": [{"name": "axis", "type": 2, "i": axis, "s": None, "ints": [], "g": None}]}, *wide))
    return tuple(results)


def clip(node, x, low, high):
    return Tensor(x.kind, x.shape, [min(max(value, low.data[0]), high.data[0]) for value in x.data])


def real(function, otherwise=lambda *values: math.nan):
    return elementwise(guarded(function, otherwise))


OPERATORS = {
    "Identity": lambda node, x: x, "Neg": real(lambda x: -x), "Abs": real(abs), "Sign": real(sign),
    "Round": real(nearest), "Floor": real(math.floor, lambda x: x), "Exp": real(math.exp, lambda x: math.inf),
    "Log": real(math.log, lambda x: -math.inf if x == 0 else math.nan), "Sqrt": real(math.sqrt),
    "Reciprocal": real(lambda x: quotient(1.0, x)), "Sin": real(math.sin), "Cos": real(math.cos), "Tanh": real(math.tanh),
    "Sigmoid": real(sigmoid), "Erf": real(math.erf), "Add": real(lambda a, b: a + b), "Sub": real(lambda a, b: a - b),
    "Mul": real(lambda a, b: a * b), "Div": real(quotient), "Pow": real(math.pow, lambda a, b: math.inf if a else math.nan),
    "Min": real(lambda a, b: math.nan if a != a or b != b else min(a, b)),
    "Max": real(lambda a, b: math.nan if a != a or b != b else max(a, b)),
    "Less": elementwise(lambda a, b: a < b, BOOLEAN), "Greater": elementwise(lambda a, b: a > b, BOOLEAN),
    "Equal": elementwise(lambda a, b: a == b, BOOLEAN), "And": elementwise(lambda a, b: a and b),
    "Or": elementwise(lambda a, b: a or b), "Not": elementwise(lambda a: not a), "IsNaN": elementwise(math.isnan, BOOLEAN),
    "IsInf": elementwise(math.isinf, BOOLEAN), "Where": elementwise(lambda c, a, b: a if c else b),
    "ReduceSum": reduce_sum, "ReduceMax": reduce_max, "ArgMax": arg_max, "CumSum": cum_sum, "TopK": top_k,
    "Reshape": reshape, "Unsqueeze": unsqueeze, "Squeeze": squeeze, "Transpose": transpose, "Expand": expand,
    "Slice": slice_, "Pad": pad, "Concat": concat, "MatMul": matmul, "Gather": gather, "GatherND": gather_nd,
    "GatherElements": gather_elements, "ScatterElements": scatter_elements, "Conv": conv, "Softmax": softmax, "Cast": cast, "Shape": shape_, "Clip": clip,
}


def run_nodes(graph, values):
    for node in graph["node"]:
        operands = [values[name] for name in node["input"]]
        try:
            results = scan(node, values, *operands) if node["op_type"] == "Scan" else OPERATORS[node["op_type"]](node, *operands)
        except Exception as error:
            raise RuntimeError(f"{node['name']} of {[operand.shape for operand in operands]}: {error!r}") from error
        results = results if isinstance(results, tuple) else (results,)
        if len(results) != len(node["output"]):
            raise RuntimeError(f"{node['name']} has {len(node['output'])} outputs for {len(results)} results")
        for name, result in zip(node["output"], results):
            if name in values:
                raise RuntimeError(f"{name} has a value already")
            values[name] = result
    return [values[value["name"]] for value in graph["output"]]


def check_declared(value, tensor, sizes):
    """Whether a tensor is of the type and shape that the graph declares; names of extents stand for one number each."""
    declared = value["type"]["tensor_type"]
    extents = [d["dim_param"] or d["dim_value"] for d in declared["shape"]["dim"]]
    wanted = [sizes.setdefault(e, n) if isinstance(e, str) else e for e, n in zip(extents, tensor.shape)]
    if declared["elem_type"] != tensor.kind or len(extents) != len(tensor.shape) or list(tensor.shape) != wanted:
        raise RuntimeError(f"{value['name']} is {tensor.kind} {tensor.shape}, declared {declared['elem_type']} {extents}")


class Model:
    def __init__(self, path):
        self.message = messages.read(path)
        self.graph = self.message["graph"]
        self.metadata = {entry["key"]: entry["value"] for entry in self.message["metadata_props"]}
        self.constants = {t["name"]: Tensor(t["data_type"], t["dims"], messages.elements(t)) for t in self.graph["initializer"]}
        self.inputs = {value["name"]: value for value in self.graph["input"]}
        self.outputs = [value["name"] for value in self.graph["output"]]

    def run(self, inputs):
        """inputs: tensors by name. → outputs by name."""
        sizes = {}
        for name, tensor in inputs.items():
            check_declared(self.inputs[name], tensor, sizes)
        if set(inputs) != set(self.inputs):
            raise RuntimeError(f"inputs are {sorted(self.inputs)}")
        results = run_nodes(self.graph, {**self.constants, **inputs})
        for value, tensor in zip(self.graph["output"], results):
            check_declared(value, tensor, sizes)
        return dict(zip(self.outputs, results))

    def table(self, name, rows):
        """An input [batch, columns] from lists."""
        kind = self.inputs[name]["type"]["tensor_type"]["elem_type"]
        return Tensor(kind, [len(rows), len(rows[0])], [value for row in rows for value in row])

    def zeros(self, name, batch):
        """A state before the first step."""
        declared = self.inputs[name]["type"]["tensor_type"]
        shape = [d["dim_value"] or 0 if not d["dim_param"] else batch for d in declared["shape"]["dim"]]
        return Tensor(declared["elem_type"], shape, [0.0] * math.prod(shape))

    def sequences(self, count):
        """(first, end, answered) of those in which a network with a memory reads so many rows: the first ones of each may be answered by others."""
        length, ahead = (int(self.metadata.get(key, 0)) for key in ("sequence_rows", "ahead"))
        if not length or count <= length:
            return [(0, count, 0)]
        result, with_goals = [], max(0, count - ahead)
        for begin, end in ((0, with_goals), (with_goals, count)):
            rest = begin + (end - begin) // length * length
            result += [(first, first + length, 0) for first in range(begin, rest, length)]
            if rest < end:
                first = max(0, end - length)
                result.append((first, end, rest - first))
        return result

    def feeds(self, rows):
        """(inputs, whether a sequence begins, whether its answer counts) of a run, or of one for each row where the network has a memory;
        inputs are without states."""
        columns = {}
        for name in ("rows", "current"):
            if name in self.inputs:
                columns[name] = self.inputs[name]["type"]["tensor_type"]["shape"]["dim"][1]["dim_value"]
        has_memory = any(name.startswith("state.") for name in self.inputs)
        groups, result = [(rows, True, True)], []
        if has_memory:
            groups = [([rows[i]], i == first, i >= first + answered)
                      for first, end, answered in self.sequences(len(rows)) for i in range(first, end)]
        for group, begins, counts in groups:
            first, tensors = 0, {}
            for name, count in columns.items():
                tensors[name] = self.table(name, [row[first:first + count] for row in group])
                first += count
            result.append((tensors, begins, counts))
        return result

    def steps(self, rows):
        """Outputs of rows; a network with a memory carries it from one to the next of a sequence."""
        states = [name for name in self.inputs if name.startswith("state.")]
        carried, all_results = {}, []
        for inputs, begins, counts in self.feeds(rows):
            if begins:
                carried = {name: self.zeros(name, 1) for name in states}
            results = self.run({**inputs, **carried})
            carried = {name: results["next." + name[len("state."):]] for name in states}
            if counts:
                all_results.append(results)
        return all_results
