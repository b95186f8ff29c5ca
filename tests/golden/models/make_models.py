#!/usr/bin/env python3
"""Writes tiny models as other programs keep them, each with what it gives in float64 (expected.json).

  make_models.py [--check] [NAME...]     into this folder; --check compares what is there

Formulas are written from the papers and from the names and conventions of the libraries transformers and
torch.nn, apart from the engine. Needs nothing but the standard library. Weights are random, but numbers that
their type holds exactly.
"""
import argparse
import json
import math
import pathlib
import random
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent


# Numbers and files.

def to_float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def to_bfloat16(x):
    return struct.unpack("<f", struct.pack("<I", struct.unpack("<I", struct.pack("<f", x))[0] & 0xFFFF0000))[0]


def to_float16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


TYPES = {"F32": (to_float32, lambda x: struct.pack("<f", x)), "F16": (to_float16, lambda x: struct.pack("<e", x)),
         "BF16": (to_bfloat16, lambda x: struct.pack("<f", x)[2:]), "F64": (float, lambda x: struct.pack("<d", x))}


class Model:
    """Named tensors of random numbers, each (shape, flat values)."""

    def __init__(self, seed, dtype):
        self.random, self.dtype, self.tensors = random.Random(seed), dtype, {}

    def draw(self, name, *shape, mean=0.0, spread=None):
        spread = 1 / math.sqrt(shape[-1]) if spread is None else spread
        rounded = TYPES[self.dtype][0]
        values = [rounded(mean + spread * self.random.gauss(0, 1)) for _ in range(math.prod(shape))]
        self.tensors[name] = (shape, values)
        return values

    def gain(self, name, width):
        return self.draw(name, width, mean=1.0, spread=0.2)

    def bias(self, name, width):
        return self.draw(name, width, spread=0.3)

    def matrix(self, name, rows, columns):
        flat = self.draw(name, rows, columns)
        return [flat[i * columns:(i + 1) * columns] for i in range(rows)]


def safetensors(tensors, dtype):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (shape, values) in sorted(tensors.items()):
        part = b"".join(TYPES[dtype][1](value) for value in values)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


# Mathematics on lists: a matrix is [out][in], a sequence a list of rows.

def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def affine(x, weight, bias=None):
    y = [dot(row, x) for row in weight]
    return y if bias is None else [a + b for a, b in zip(y, bias)]


def transposed(weight):
    return [list(column) for column in zip(*weight)]


def added(a, b):
    return [x + y for x, y in zip(a, b)]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def rms_norm(x, gain, epsilon):
    scale = 1 / math.sqrt(dot(x, x) / len(x) + epsilon)
    return [a * scale * g for a, g in zip(x, gain)]


def layer_norm(x, gain, bias, epsilon):
    mean = math.fsum(x) / len(x)
    variance = math.fsum((a - mean)**2 for a in x) / len(x)
    return [(a - mean) / math.sqrt(variance + epsilon) * g + b for a, g, b in zip(x, gain, bias)]


def softmax(x):
    powers = [math.exp(a - max(x)) for a in x]
    return [a / math.fsum(powers) for a in powers]


def rotate_half(x):
    half = len(x) // 2
    return [-a for a in x[half:]] + x[:half]


def scaled(frequency, scaling):
    """By the wave length of a pair: all of them, or those that are long beside the first training's sequences."""
    kind = (scaling or {}).get("rope_type") or (scaling or {}).get("type", "default")
    if kind == "default":
        return frequency
    slow = frequency / scaling["factor"]
    if kind == "linear":
        return slow
    wave, first = 2 * math.pi / frequency, scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    if wave < first / high:
        return frequency
    if wave > first / low:
        return slow
    smooth = (first / wave - low) / (high - low)
    return (1 - smooth) * slow + smooth * frequency


def yarn(width, theta, scaling):
    """Peng et al., "YaRN", 2023, as transformers has it: the frequencies of all pairs, and the factor of cosines and sines."""
    factor, first = scaling["factor"], scaling["original_max_position_embeddings"]

    def pair_of(turns):
        """Which pair turns so often in a sequence of the first training."""
        return width * math.log(first / (turns * 2 * math.pi)) / (2 * math.log(theta))

    begin, end = pair_of(scaling.get("beta_fast", 32)), pair_of(scaling.get("beta_slow", 1))
    if scaling.get("truncate", True):
        begin, end = math.floor(begin), math.ceil(end)
    begin, end = max(begin, 0), min(end, width - 1)
    end = end + 0.001 if begin == end else end
    frequencies = []
    for i in range(width // 2):
        divided = min(max((i - begin) / (end - begin), 0), 1)
        frequencies.append(theta**(-2 * i / width) * (1 - divided + divided / factor))

    def gain(weight):
        return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

    one, all_dims = scaling.get("mscale"), scaling.get("mscale_all_dim")
    default = gain(one) / gain(all_dims) if one and all_dims else gain(1)
    return frequencies, scaling.get("attention_factor", default)


def rotary(x, position, theta, scaling=None):
    """As transformers has it: x cos + rotate_half(x) sin, the angles of the first half repeated."""
    width, gain = len(x), 1.0
    if (scaling or {}).get("rope_type", (scaling or {}).get("type")) == "yarn":
        frequencies, gain = yarn(width, theta, scaling)
    else:
        frequencies = [scaled(theta**(-2 * i / width), scaling) for i in range(width // 2)]
    angles = [position * frequency for frequency in frequencies] * 2
    return [gain * (a * math.cos(t) + b * math.sin(t)) for a, b, t in zip(x, rotate_half(x), angles)]


def heads_of(x, width):
    return [x[i:i + width] for i in range(0, len(x), width)]


def attention(queries, keys, values, window=None):
    """Causal attention of sequences of heads; each key head serves as many query heads in order."""
    outputs = []
    for t, heads in enumerate(queries):
        first = 0 if window is None else max(0, t - window + 1)
        mixed = []
        for h, q in enumerate(heads):
            kv = h // (len(heads) // len(keys[0]))
            scores = softmax([dot(q, keys[s][kv]) / math.sqrt(len(q)) for s in range(first, t + 1)])
            mixed += [math.fsum(w * values[first + i][kv][e] for i, w in enumerate(scores))
                      for e in range(len(values[0][kv]))]
        outputs.append(mixed)
    return outputs


def convolution(x, weight, bias, stride, padding):
    """x [channel][row][column], weight [out][in][k][k]."""
    kernel, height, width = len(weight[0][0]), len(x[0]), len(x[0][0])

    def at(channel, row, column):
        return x[channel][row][column] if 0 <= row < height and 0 <= column < width else 0.0

    rows = (height + 2 * padding - kernel) // stride + 1
    columns = (width + 2 * padding - kernel) // stride + 1
    return [[[bias[o] + math.fsum(
        weight[o][c][i][j] * at(c, r * stride - padding + i, s * stride - padding + j)
        for c in range(len(x)) for i in range(kernel) for j in range(kernel))
        for s in range(columns)] for r in range(rows)] for o in range(len(weight))]


def max_pool(x, size):
    return [[[max(x[c][r * size + i][s * size + j] for i in range(size) for j in range(size))
              for s in range(len(x[c][0]) // size)] for r in range(len(x[c]) // size)] for c in range(len(x))]


# The models: each returns (files, expected).

def gated_transformer(model, config, ids, prefix="model.", output_bias=False):
    f, hidden, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    heads, epsilon = config["num_attention_heads"], config["rms_norm_eps"]
    kv = config.get("num_key_value_heads", heads)
    width = config.get("head_dim", f // heads)
    normed = config["model_type"] == "qwen3"
    biased = config.get("attention_bias", config["model_type"] == "qwen2")
    table = model.matrix(prefix + "embed_tokens.weight", vocabulary, f)
    x = [table[i] for i in ids]
    for block in range(config["num_hidden_layers"]):
        at = f"{prefix}layers.{block}."

        def projection(name, out, into, bias):
            weight = model.matrix(at + name + ".weight", out, into)
            return weight, model.bias(at + name + ".bias", out) if bias else None

        gain = model.gain(at + "input_layernorm.weight", f)
        q, k, v = (projection(f"self_attn.{n}_proj", c * width, f, biased) for n, c in (("q", heads), ("k", kv), ("v", kv)))
        o = projection("self_attn.o_proj", f, heads * width, biased and output_bias)
        gains = [model.gain(f"{at}self_attn.{n}_norm.weight", width) for n in "qk"] if normed else [None, None]

        def turned(row, position, weights, gain):
            parts = heads_of(affine(row, *weights), width)
            parts = [rms_norm(part, gain, epsilon) for part in parts] if gain else parts
            return [rotary(part, position, config["rope_theta"], config.get("rope_scaling")) for part in parts]

        rows = [rms_norm(row, gain, epsilon) for row in x]
        mixed = attention([turned(row, t, q, gains[0]) for t, row in enumerate(rows)],
                          [turned(row, t, k, gains[1]) for t, row in enumerate(rows)],
                          [heads_of(affine(row, *v), width) for row in rows], config.get("sliding_window"))
        x = [added(row, affine(m, *o)) for row, m in zip(x, mixed)]
        gain = model.gain(at + "post_attention_layernorm.weight", f)
        bias = config.get("mlp_bias", False)
        gate, up = (projection(f"mlp.{n}_proj", hidden, f, bias) for n in ("gate", "up"))
        down = projection("mlp.down_proj", f, hidden, bias)
        for t, row in enumerate(x):
            row = rms_norm(row, gain, epsilon)
            inner = [silu(g) * u for g, u in zip(affine(row, *gate), affine(row, *up))]
            x[t] = added(x[t], affine(inner, *down))
    gain = model.gain(prefix + "norm.weight", f)
    head = table if config.get("tie_word_embeddings") else model.matrix("lm_head.weight", vocabulary, f)
    return [affine(rms_norm(row, gain, epsilon), head) for row in x]


IDS = [3, 1, 4, 1, 5, 9, 2, 6]


def llama():
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 11, "hidden_size": 8,
              "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 6, "rms_norm_eps": 1e-5, "rope_theta": 100.0, "max_position_embeddings": 64,
              "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "hidden_act": "silu",
              "rope_scaling": None, "torch_dtype": "float32", "bos_token_id": 1}
    model = Model(1, "F32")
    logits = gated_transformer(model, config, IDS)
    names = sorted(model.tensors)
    parts = [names[:7], names[7:]]
    files, places = {"config.json": config}, {}
    for number, part in enumerate(parts, 1):
        name = f"model-0000{number}-of-00002.safetensors"
        files[name] = safetensors({n: model.tensors[n] for n in part}, "F32")
        places.update({n: name for n in part})
    size = sum(4 * len(values) for _, values in model.tensors.values())
    files["model.safetensors.index.json"] = {"metadata": {"total_size": size}, "weight_map": places}
    return files, IDS, logits


def single(model, config, logits, inputs=IDS):
    return {"config.json": config, "model.safetensors": safetensors(model.tensors, model.dtype)}, inputs, logits


def llama3():
    """Positions of longer sequences than those it was first trained on: one pair keeps its angles, one is between."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 10, "hidden_size": 8,
              "intermediate_size": 6, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
              "head_dim": 6, "rms_norm_eps": 1e-5, "rope_theta": 100.0, "max_position_embeddings": 64,
              "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False, "hidden_act": "silu",
              "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                               "original_max_position_embeddings": 40, "rope_type": "llama3"}}
    model = Model(12, "BF16")
    return single(model, config, gated_transformer(model, config, IDS))


def llama_linear():
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 10, "hidden_size": 8,
              "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2, "rms_norm_eps": 1e-5,
              "rope_theta": 100.0, "max_position_embeddings": 64, "hidden_act": "silu",
              "rope_scaling": {"type": "linear", "factor": 4.0}}
    model = Model(13, "F32")
    return single(model, config, gated_transformer(model, config, IDS))


def llama_yarn():
    """A ramp between pairs of its own, and scores with a factor."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 10, "hidden_size": 8,
              "intermediate_size": 6, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
              "head_dim": 8, "rms_norm_eps": 1e-5, "rope_theta": 100.0, "max_position_embeddings": 64, "hidden_act": "silu",
              "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 20, "beta_fast": 4,
                               "beta_slow": 0.5, "attention_factor": 1.5, "truncate": False}}
    model = Model(14, "F32")
    return single(model, config, gated_transformer(model, config, IDS))


def qwen2_yarn():
    """With nothing but what longer sequences ask for."""
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "vocab_size": 10, "hidden_size": 16,
              "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
              "rms_norm_eps": 1e-6, "rope_theta": 100.0, "max_position_embeddings": 160, "use_sliding_window": False,
              "tie_word_embeddings": True, "hidden_act": "silu",
              "rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 40, "type": "yarn"}}
    model = Model(15, "BF16")
    return single(model, config, gated_transformer(model, config, IDS))


def mistral():
    """A window, biases, tied, and names without the prefix."""
    config = {"model_type": "mistral", "vocab_size": 10, "hidden_size": 8, "intermediate_size": 6,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "rms_norm_eps": 1e-6,
              "rope_theta": 10000.0, "max_position_embeddings": 64, "sliding_window": 3,
              "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "hidden_act": "silu"}
    model = Model(2, "BF16")
    return single(model, config, gated_transformer(model, config, IDS, "", True))


def qwen2():
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "vocab_size": 12, "hidden_size": 8,
              "intermediate_size": 10, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "max_position_embeddings": 32,
              "use_sliding_window": False, "max_window_layers": 2, "tie_word_embeddings": True,
              "hidden_act": "silu"}
    model = Model(3, "F16")
    return single(model, config, gated_transformer(model, config, IDS))


def qwen3():
    config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 10, "hidden_size": 8,
              "intermediate_size": 10, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
              "head_dim": 6, "rms_norm_eps": 1e-6, "max_position_embeddings": 32, "attention_bias": False,
              "use_sliding_window": False, "tie_word_embeddings": False, "hidden_act": "silu",
              "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}}
    model = Model(4, "F32")
    return single(model, config, gated_transformer(model, {**config, "rope_theta": 5000.0}, IDS))


def gpt2():
    """Names without the prefix and with masks, as the first files had them."""
    f, heads, vocabulary, positions, epsilon = 8, 2, 13, 16, 1e-5
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": vocabulary, "n_embd": f,
              "n_layer": 2, "n_head": heads, "n_positions": positions, "n_ctx": positions, "n_inner": None,
              "layer_norm_epsilon": epsilon, "activation_function": "gelu_new"}
    model = Model(5, "F32")
    table, places = model.matrix("wte.weight", vocabulary, f), model.matrix("wpe.weight", positions, f)
    x = [added(table[i], places[t]) for t, i in enumerate(IDS)]

    def norm(name):
        return model.gain(name + ".weight", f), model.bias(name + ".bias", f), epsilon

    def projection(name, into, out):  # [in, out]
        return transposed(model.matrix(name + ".weight", into, out)), model.bias(name + ".bias", out)

    for block in range(config["n_layer"]):
        at = f"h.{block}."
        first, joined = norm(at + "ln_1"), projection(at + "attn.c_attn", f, 3 * f)
        out, second = projection(at + "attn.c_proj", f, f), norm(at + "ln_2")
        into, back = projection(at + "mlp.c_fc", f, 4 * f), projection(at + "mlp.c_proj", 4 * f, f)
        model.tensors[at + "attn.bias"] = ((1, 1, positions, positions),
                                           [float(s <= t) for t in range(positions) for s in range(positions)])
        model.tensors[at + "attn.masked_bias"] = ((), [-1e4])
        rows = [affine(layer_norm(row, *first), *joined) for row in x]
        q, k, v = ([heads_of(row[n * f:(n + 1) * f], f // heads) for row in rows] for n in range(3))
        x = [added(row, affine(mixed, *out)) for row, mixed in zip(x, attention(q, k, v))]
        x = [added(row, affine([gelu(a) for a in affine(layer_norm(row, *second), *into)], *back)) for row in x]
    last = norm("ln_f")
    return single(model, config, [affine(layer_norm(row, *last), table) for row in x])


def state_spaces(model, f, blocks, state, expand, kernel, rank, vocabulary, epsilon, embedding="embeddings"):
    """Blocks of norm and mixer, each added to what enters it; a step multiplies what comes in, as its authors' programs do."""
    d = expand * f
    table = model.matrix(f"backbone.{embedding}.weight", vocabulary, f)
    x = [table[i] for i in IDS]
    for block in range(blocks):
        at = f"backbone.layers.{block}."
        gain, at = model.gain(at + "norm.weight", f), at + "mixer."
        into, back = model.matrix(at + "in_proj.weight", 2 * d, f), model.matrix(at + "out_proj.weight", f, d)
        taps = heads_of(model.draw(at + "conv1d.weight", d, 1, kernel, spread=0.5), kernel)
        offsets = model.bias(at + "conv1d.bias", d)
        select = model.matrix(at + "x_proj.weight", rank + 2 * state, d)
        widen, shift = model.matrix(at + "dt_proj.weight", d, rank), model.bias(at + "dt_proj.bias", d)
        decay, skip = model.matrix(at + "A_log", d, state), model.gain(at + "D", d)
        seen, h, outputs = [[0.0] * d] * (kernel - 1), [[0.0] * state for _ in range(d)], []
        for row in x:
            both = affine(rms_norm(row, gain, epsilon), into)
            seen, gate = (seen + [both[:d]])[-kernel:], both[d:]
            u = [silu(offsets[c] + math.fsum(taps[c][k] * seen[k][c] for k in range(kernel))) for c in range(d)]
            chosen = affine(u, select)
            steps = [math.log1p(math.exp(a)) for a in affine(chosen[:rank], widen, shift)]
            b, c = chosen[rank:rank + state], chosen[rank + state:]
            h = [[math.exp(-math.exp(decay[i][n]) * steps[i]) * h[i][n] + steps[i] * b[n] * u[i] for n in range(state)]
                 for i in range(d)]
            mixed = [(dot(h[i], c) + skip[i] * u[i]) * silu(gate[i]) for i in range(d)]
            outputs.append(added(row, affine(mixed, back)))
        x = outputs
    gain = model.gain("backbone.norm_f.weight", f)
    return [rms_norm(row, gain, epsilon) for row in x], table


def mamba():
    """Tied, with keys that its conversion has left."""
    config = {"architectures": ["MambaForCausalLM"], "model_type": "mamba", "vocab_size": 11, "hidden_size": 6,
              "num_hidden_layers": 2, "state_size": 3, "expand": 2, "conv_kernel": 3, "time_step_rank": 2,
              "intermediate_size": 12, "layer_norm_epsilon": 1e-3, "use_bias": False, "use_conv_bias": True,
              "hidden_act": "silu", "time_step_scale": 1.0, "residual_in_fp32": True, "rms_norm": True, "ssm_cfg": {}}
    model = Model(11, "F32")
    rows, table = state_spaces(model, 6, 2, 3, 2, 3, 2, 11, 1e-3)
    return single(model, config, [affine(row, table) for row in rows])


def mamba_ssm():
    """As its authors keep it: no type, a vocabulary that is rounded up, a head of its own."""
    config = {"d_model": 4, "n_layer": 1, "vocab_size": 13, "ssm_cfg": {"d_state": 4, "expand": 3}, "rms_norm": True,
              "residual_in_fp32": True, "fused_add_norm": True, "pad_vocab_size_multiple": 8, "tie_embeddings": False}
    model = Model(12, "F32")
    rows, _ = state_spaces(model, 4, 1, 4, 3, 4, 1, 16, 1e-5, "embedding")
    head = model.matrix("lm_head.weight", 16, 4)
    return single(model, config, [affine(row, head) for row in rows])


def modules(model, inputs, outputs):
    """A model of torch.nn: tensors alone."""
    return {"model.safetensors": safetensors(model.tensors, model.dtype)}, inputs, outputs


def rows(seed, count, width):
    numbers = random.Random(seed)
    return [[to_float32(numbers.gauss(0, 1)) for _ in range(width)] for _ in range(count)]


def mlp():
    """Sequential(Linear, ReLU, Linear, ReLU, Linear); the last one has no bias."""
    model, inputs = Model(7, "F64"), rows(70, 5, 3)
    layers = [(model.matrix(f"{2 * i}.weight", out, into), model.bias(f"{2 * i}.bias", out) if i < 2 else None)
              for i, (into, out) in enumerate(((3, 7), (7, 4), (4, 2)))]
    outputs = []
    for x in inputs:
        for weight, bias in layers[:-1]:
            x = [max(a, 0.0) for a in affine(x, weight, bias)]
        outputs.append(affine(x, *layers[-1]))
    return modules(model, inputs, outputs)


def cnn():
    """conv1 (ReLU, max pool of 2), conv2 with a stride of 2 (ReLU), fc."""
    model, inputs = Model(8, "F32"), rows(80, 3, 2 * 8 * 8)

    def conv(name, out, into):
        flat = model.draw(name + ".weight", out, into, 3, 3, spread=0.3)
        kernels = [heads_of(flat[i * 9:(i + 1) * 9], 3) for i in range(out * into)]
        return heads_of(kernels, into), model.bias(name + ".bias", out)

    first, second = conv("conv1", 3, 2), conv("conv2", 4, 3)
    fc = model.matrix("fc.weight", 5, 16), model.bias("fc.bias", 5)
    relu = lambda x: [[[max(a, 0.0) for a in row] for row in channel] for channel in x]
    outputs = []
    for row in inputs:
        x = [heads_of(channel, 8) for channel in heads_of(row, 64)]
        x = max_pool(relu(convolution(x, *first, 1, 1)), 2)
        x = relu(convolution(x, *second, 2, 1))
        outputs.append(affine([a for channel in x for line in channel for a in line], *fc))
    return modules(model, inputs, outputs)


def recurrent():
    """An LSTM of two levels, a GRU, an RNN without biases and a Linear, one after another."""
    model, inputs = Model(9, "F32"), rows(90, 6, 3)

    def level(name, gates, into, width, biased=True):
        end = name[name.rfind("_l"):]
        at = name[:name.rfind("_l")]
        return [model.matrix(f"{at}weight_ih{end}", gates * width, into),
                model.matrix(f"{at}weight_hh{end}", gates * width, width)] + [
                    model.bias(f"{at}bias_{n}{end}", gates * width) if biased else None for n in ("ih", "hh")]

    lower, upper = level("a._l0", 4, 3, 4), level("a._l1", 4, 4, 3)
    gru, rnn = level("b._l0", 3, 3, 5), level("c._l0", 1, 5, 4, False)
    head = model.matrix("d.weight", 2, 4), model.bias("d.bias", 2)

    def lstm(sequence, weights, width):
        h, c, outputs = [0.0] * width, [0.0] * width, []
        for x in sequence:
            i, f, g, o = heads_of(added(affine(x, weights[0], weights[2]), affine(h, weights[1], weights[3])), width)
            c = [sigmoid(b) * old + sigmoid(a) * math.tanh(n) for a, b, n, old in zip(i, f, g, c)]
            h = [sigmoid(a) * math.tanh(b) for a, b in zip(o, c)]
            outputs.append(h)
        return outputs

    x = lstm(lstm(inputs, lower, 4), upper, 3)
    h, outputs = [0.0] * 5, []
    for row in x:
        xr, xz, xn = heads_of(affine(row, gru[0], gru[2]), 5)
        hr, hz, hn = heads_of(affine(h, gru[1], gru[3]), 5)
        r, z = [sigmoid(a + b) for a, b in zip(xr, hr)], [sigmoid(a + b) for a, b in zip(xz, hz)]
        h = [(1 - b) * math.tanh(n + a * m) + b * old for n, a, m, b, old in zip(xn, r, hn, z, h)]
        outputs.append(h)
    x, h, outputs = outputs, [0.0] * 4, []
    for row in x:
        h = [math.tanh(a) for a in added(affine(row, rnn[0]), affine(h, rnn[1]))]
        outputs.append(affine(h, *head))
    return modules(model, inputs, outputs)


def blocks():
    """Blocks with norms before attention and hidden layers, as a module of one's own would name them."""
    f, heads, vocabulary, epsilon = 6, 3, 9, 1e-3
    model = Model(10, "F32")
    table = model.matrix("embed.weight", vocabulary, f)
    x = [table[i] for i in IDS if i < vocabulary]
    ids = [i for i in IDS if i < vocabulary]

    def norm(name):
        return model.gain(name + ".weight", f), model.bias(name + ".bias", f), epsilon

    for block in range(2):
        at = f"layers.{block}."
        first, second = norm(at + "norm1"), norm(at + "norm2")
        joined = model.matrix(at + "attn.in_proj_weight", 3 * f, f), model.bias(at + "attn.in_proj_bias", 3 * f)
        out = model.matrix(at + "attn.out_proj.weight", f, f), model.bias(at + "attn.out_proj.bias", f)
        into = model.matrix(at + "mlp.0.weight", 10, f), model.bias(at + "mlp.0.bias", 10)
        back = model.matrix(at + "mlp.2.weight", f, 10), model.bias(at + "mlp.2.bias", f)
        projected = [affine(layer_norm(row, *first), *joined) for row in x]
        q, k, v = ([heads_of(row[n * f:(n + 1) * f], f // heads) for row in projected] for n in range(3))
        x = [added(row, affine(mixed, *out)) for row, mixed in zip(x, attention(q, k, v))]
        x = [added(row, affine([gelu(a) for a in affine(layer_norm(row, *second), *into)], *back)) for row in x]
    last, head = norm("norm"), model.matrix("head.weight", vocabulary, f)
    return modules(model, ids, [affine(layer_norm(row, *last), head) for row in x])


MODELS = {function.__name__: function for function in
          (llama, llama3, llama_linear, llama_yarn, qwen2_yarn, mistral, qwen2, qwen3, gpt2, mamba, mamba_ssm, mlp, cnn, recurrent, blocks)}


def files_of(name):
    files, inputs, outputs = MODELS[name]()
    inputs = [[x] if isinstance(x, int) else x for x in inputs]
    files["expected.json"] = {"inputs": inputs, "outputs": outputs}
    return {file: content if isinstance(content, bytes) else (json.dumps(content, indent=1) + "\n").encode()
            for file, content in files.items()}


def same(file, content, there):
    """The same bytes; results of mathematics within rounding."""
    if file != "expected.json":
        return content == there
    flat = lambda text: [x for key in ("inputs", "outputs") for row in json.loads(text)[key] for x in row]
    a, b = flat(content), flat(there)
    return len(a) == len(b) and all(math.isclose(x, y, rel_tol=1e-11, abs_tol=1e-11) for x, y in zip(a, b))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument("--check", action="store_true", help="compare, and fail where a file differs")
    arguments = parser.parse_args()
    different = []
    for name in arguments.names or MODELS:
        for file, content in files_of(name).items():
            path = HERE / name / file
            if arguments.check:
                if not path.exists() or not same(file, content, path.read_bytes()):
                    different.append(str(path))
                continue
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
    if different:
        sys.exit("other than this script makes them: " + ", ".join(different))


if __name__ == "__main__":
    main()
