"""The layers, written from their definitions (`cambrian layers TYPE` prints them) on PyTorch tensors.

forward(layer, x, p): the output for a layer of a config, its input and its parameters by name.
parameter_shapes(layer): the shapes of those parameters.
"""
import math

import torch
from torch.nn import functional

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": torch.relu,
    "silu": lambda x: x * torch.sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": functional.elu,
    "leaky_relu": functional.leaky_relu,
    "softplus": lambda x: torch.log1p(torch.exp(-x.abs())) + x.clamp(min=0),
    "relu6": functional.relu6,
    "hard_swish": functional.hardswish,
    "mish": functional.mish,
    "exact_gelu": functional.gelu,
}


def activated(layer, y):
    return ACTIVATIONS[layer.get("activation", "linear")](y)


def inner(prefix, p):
    """The parameters of a layer in a container."""
    return {name[len(prefix):]: value for name, value in p.items() if name.startswith(prefix)}


def affine(x, weight, bias=None):
    y = x @ weight.T
    return y if bias is None else y + bias


def dense(layer, x, p):
    return activated(layer, affine(x, p["weight"], p.get("bias")))


def rope(x, base):
    """Turns the pairs (i, i + half) of the last axis of [.., time, width] by time · base^(−i / half)."""
    half = x.shape[-1] // 2
    rates = base ** (-torch.arange(half, dtype=x.dtype) / half)
    angles = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * rates
    low, high = x[..., :half], x[..., half:]
    return torch.cat((low * angles.cos() - high * angles.sin(), high * angles.cos() + low * angles.sin()), -1)


def attention_sizes(layer):
    heads = layer["heads"]
    return heads, layer.get("kv_heads", heads), layer.get("head_dim", layer["features"] // heads)


def multi_head_attention(layer, x, p):
    heads, kv_heads, width = attention_sizes(layer)
    batch, time, _ = x.shape

    def projected(which, count):  # [batch, head, time, width], a key head for each query head
        y = affine(x, p["w" + which], p.get("b" + which)).reshape(batch, time, count, width).transpose(1, 2)
        if which != "v" and layer.get("rope_base", 0):
            y = rope(y, layer["rope_base"])
        return y.repeat_interleave(heads // count, 1)

    q, k, v = projected("q", heads), projected("k", kv_heads), projected("v", kv_heads)
    scores = q @ k.transpose(-1, -2) / math.sqrt(width)
    if layer.get("causal", True):
        later = torch.ones(time, time, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    mixed = (softmax(scores) @ v).transpose(1, 2).reshape(batch, time, heads * width)
    return affine(mixed, p["wo"], p.get("bo"))


def swiglu(layer, x, p):
    gate = affine(x, p["gate_weight"], p.get("gate_bias"))
    up = affine(x, p["up_weight"], p.get("up_bias"))
    return affine(gate * torch.sigmoid(gate) * up, p["down_weight"], p.get("down_bias"))


def rms_norm(layer, x, p):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + layer.get("epsilon", 1e-6)) * p["gain"]


def layer_norm(layer, x, p):
    centered = x - x.mean(-1, keepdim=True)
    variance = (centered * centered).mean(-1, keepdim=True)
    return centered / torch.sqrt(variance + layer.get("epsilon", 1e-5)) * p["gain"] + p["bias"]


def convolution(layer, x, p):
    options = {key: layer[key] for key in ("stride", "padding", "dilation", "groups", "output_padding") if key in layer}
    return activated(layer, getattr(functional, layer["type"])(x, p["weight"], p.get("bias"), **options))


def pool(layer, x, p):
    function = functional.max_pool2d if layer["type"] == "max_pool2d" else functional.avg_pool2d
    return function(x, layer["kernel"], layer.get("stride", layer["kernel"]), layer.get("padding", 0))


def rnn(layer, x, p):
    h, outputs = x.new_zeros(x.shape[0], layer["hidden"]), []
    for now in x.unbind(1):
        h = torch.tanh(affine(now, p["weight_ih"], p["bias"]) + affine(h, p["weight_hh"]))
        outputs.append(h)
    return torch.stack(outputs, 1)


def lstm(layer, x, p):
    h = c = x.new_zeros(x.shape[0], layer["hidden"])
    outputs = []
    for now in x.unbind(1):
        i, f, g, o = (affine(now, p["weight_ih"], p["bias"]) + affine(h, p["weight_hh"])).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        outputs.append(h)
    return torch.stack(outputs, 1)


def gru(layer, x, p):
    h, outputs = x.new_zeros(x.shape[0], layer["hidden"]), []
    for now in x.unbind(1):
        xr, xz, xn = affine(now, p["weight_ih"], p["bias_ih"]).chunk(3, -1)
        hr, hz, hn = affine(h, p["weight_hh"], p["bias_hh"]).chunk(3, -1)
        z = torch.sigmoid(xz + hz)
        h = (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h
        outputs.append(h)
    return torch.stack(outputs, 1)


def mgu(layer, x, p):
    """Zhou et al. 2016, equations of the minimal gated unit: one gate f; the candidate sees f * h."""
    hidden = layer["hidden"]
    (wf, wc), (uf, uc), (bf, bc) = (p[name].split(hidden) for name in ("weight_ih", "weight_hh", "bias"))
    h, outputs = x.new_zeros(x.shape[0], hidden), []
    for now in x.unbind(1):
        f = torch.sigmoid(affine(now, wf) + affine(h, uf) + bf)
        h = h + f * (torch.tanh(affine(now, wc, bc) + affine(f * h, uc)) - h)
        outputs.append(h)
    return torch.stack(outputs, 1)


def ugrnn(layer, x, p):
    """Collins et al. 2017, the update gate RNN."""
    h, outputs = x.new_zeros(x.shape[0], layer["hidden"]), []
    for now in x.unbind(1):
        c, g = (affine(now, p["weight_ih"]) + affine(h, p["weight_hh"]) + p["bias"]).chunk(2, -1)
        g = torch.sigmoid(g)
        h = torch.tanh(c) + g * (h - torch.tanh(c))
        outputs.append(h)
    return torch.stack(outputs, 1)


def delta(layer, x, p):
    """Ororbia et al. 2017, the Delta-RNN: inner function of second order, gate of the input, both tanh."""
    h, outputs = x.new_zeros(x.shape[0], layer["hidden"]), []
    for now in x.unbind(1):
        data, memory = affine(now, p["weight_ih"]), affine(h, p["weight_hh"])
        z = torch.tanh(p["alpha"] * memory * data + p["beta_1"] * memory + p["beta_2"] * data + p["bias"])
        r = torch.sigmoid(data + p["gate_bias"])
        h = torch.tanh((1 - r) * z + r * h)
        outputs.append(h)
    return torch.stack(outputs, 1)


def embedding(layer, x, p):
    return p["table"][x]


def kmeans(layer, x, p):
    distances = ((x[..., None, :] - p["centers"]) ** 2).sum(-1)
    near = softmax(-distances / (2 * layer.get("temperature", 1.0) ** 2))
    return near @ p["centers"] if layer.get("output") == "features" else near


def softmax(x):
    powers = torch.exp(x - x.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


def entmax(x, alpha):
    """[(alpha − 1) x − tau]₊^(1 / (alpha − 1)) with the tau whose sum is 1 (Peters et al., 2019)."""
    z, power = (alpha - 1) * x, 1 / (alpha - 1)
    with torch.no_grad():
        high = z.amax(-1, keepdim=True)
        low = high - 1
        for _ in range(100):
            tau = (low + high) / 2
            enough = ((z - tau).clamp(min=0) ** power).sum(-1, keepdim=True) >= 1
            low, high = torch.where(enough, tau, low), torch.where(enough, high, tau)
        tau = (low + high) / 2
        inside = z > tau
        slope = -(power * (z - tau).clamp(min=0) ** (power - 1) * inside).sum(-1, keepdim=True)
    # A step of Newton's changes tau no more, but carries the gradient of the implicit function.
    tau = tau - (((z - tau).clamp(min=0) ** power).sum(-1, keepdim=True) - 1) / slope
    return (z - tau).clamp(min=0) ** power


def hierarchical(x, levels):
    leaves, first, nodes = x.new_ones(x.shape[0], 1), 0, 1
    for level in levels:
        siblings = x[:, first:first + nodes * level].reshape(-1, nodes, level)
        leaves = (leaves[..., None] * softmax(siblings)).reshape(-1, nodes * level)
        first, nodes = first + nodes * level, nodes * level
    return leaves


def softmax_layer(layer, x, p):
    variant = layer.get("variant", "standard")
    x = x / layer.get("temperature", 1.0)
    if variant in ("standard", "temperature"):
        return softmax(x)
    if variant == "grid":
        return softmax(x.reshape(-1, layer["rows"], layer["cols"])).reshape(x.shape)
    if variant == "masked":
        return softmax(x.masked_fill(~torch.tensor(layer["mask"]), -math.inf))
    if variant == "sparse":
        return entmax(x, 2.0)
    if variant == "entmax":
        return entmax(x, layer.get("alpha", 1.5))
    if variant == "hierarchical":
        return hierarchical(x, layer["levels"])
    raise SystemExit(f"softmax: no formula for the variant {variant}")


def parallel(layer, x, p):
    outputs = [forward(branch, x, inner(f"branches.{i}.", p)) for i, branch in enumerate(layer["branches"])]
    how = layer["combine"]
    if how == "concat":
        return torch.cat(outputs, -1)
    if how in ("add", "average"):
        return sum(outputs) / (len(outputs) if how == "average" else 1)
    if how == "filter" and "top_k" not in layer:
        shares = softmax(forward(layer["gate"], x, inner("gate.", p)))
        return sum(shares[..., i:i + 1] * output for i, output in enumerate(outputs))
    raise SystemExit(f"parallel: no formula for combine {how}")


def sequential(layer, x, p):
    before = x  # The input of the layer that came last: what an empty residual adds.
    for i, part in enumerate(layer["layers"]):
        if part["type"] == "residual" and not part.get("layers"):
            before, x = x, x + before
        else:
            before, x = x, forward(part, x, inner(f"layers.{i}.", p))
    return x


def residual(layer, x, p):
    return x + sequential(layer, x, p)


def selective_scan(u, raw_delta, a_log, b, c, skip, discretization="zoh", state=None):
    """h ← exp(Δ A) h + w B u; y = Σₙ C h + skip u, with Δ = softplus(raw_delta), A = −exp(a_log)."""
    delta, a = functional.softplus(raw_delta, threshold=1e3), -torch.exp(a_log)
    h, outputs = u.new_zeros(u.shape[0], *a_log.shape) if state is None else state, []
    for t in range(u.shape[1]):
        exponent = delta[:, t, :, None] * a
        weight = torch.expm1(exponent) / a if discretization == "zoh" else delta[:, t, :, None]
        h = torch.exp(exponent) * h + weight * b[:, t, None, :] * u[:, t, :, None]
        outputs.append((h * c[:, t, None, :]).sum(-1) + skip * u[:, t])
    return torch.stack(outputs, 1)


def mamba_sizes(layer):
    features = layer["features"]
    return (features, layer.get("expand", 2) * features, layer.get("state", 16), layer.get("kernel", 4),
            layer.get("dt_rank", -(-features // 16)))


def mamba(layer, x, p):
    _, channels, state, kernel, rank = mamba_sizes(layer)
    u, z = affine(rms_norm({}, x, {"gain": p["norm.gain"]}), p["in_proj"]).split(channels, -1)
    padded = functional.pad(u.transpose(1, 2), (kernel - 1, 0))
    u = functional.conv1d(padded, p["conv_weight"], p["conv_bias"], groups=channels).transpose(1, 2)
    u = ACTIVATIONS["silu"](u)
    dt, b, c = affine(u, p["x_proj"]).split((rank, state, state), -1)
    y = selective_scan(u, affine(dt, p["dt_proj"], p["dt_bias"]), p["a_log"], b, c, p["skip"],
                       layer.get("discretization", "zoh"))
    return x + affine(y * ACTIVATIONS["silu"](z), p["out_proj"])


FORWARD = {
    "dense": dense, "multi_head_attention": multi_head_attention, "swiglu": swiglu, "rms_norm": rms_norm,
    "layer_norm": layer_norm, "max_pool2d": pool, "average_pool2d": pool, "rnn": rnn, "lstm": lstm, "gru": gru,
    "mgu": mgu, "ugrnn": ugrnn, "delta": delta,
    "embedding": embedding, "kmeans": kmeans, "softmax": softmax_layer, "parallel": parallel,
    "sequential": sequential, "residual": residual, "mamba": mamba,
    **{f"conv{kind}{n}d": convolution for kind in ("", "_transpose") for n in (1, 2, 3)},
}


def forward(layer, x, p):
    return FORWARD[layer["type"]](layer, x, p)


def parameter_shapes(layer):
    kind = layer["type"]
    if kind in ("sequential", "residual", "parallel"):
        parts = {f"layers.{i}.": part for i, part in enumerate(layer.get("layers", []))}
        parts.update({f"branches.{i}.": part for i, part in enumerate(layer.get("branches", []))})
        if "gate" in layer:
            parts["gate."] = layer["gate"]
        return {prefix + name: shape for prefix, part in parts.items() for name, shape in parameter_shapes(part).items()}
    shapes = SHAPES.get(kind, lambda layer: {})(layer)
    if layer.get("bias", True):
        return shapes
    return {name: shape for name, shape in shapes.items() if "bias" not in name and name not in ("bq", "bk", "bv", "bo")}


def attention_shapes(layer):
    f = layer["features"]
    heads, kv_heads, width = attention_sizes(layer)
    q, kv = heads * width, kv_heads * width
    return {"wq": (q, f), "wk": (kv, f), "wv": (kv, f), "wo": (f, q), "bq": (q,), "bk": (kv,), "bv": (kv,), "bo": (f,)}


def kernel_shapes(layer, axes, transposed):
    groups = layer.get("groups", 1)
    first, second = layer["out_channels"], layer["in_channels"]
    if transposed:
        first, second = second, first
    kernel = layer["kernel"] if isinstance(layer["kernel"], list) else [layer["kernel"]] * axes
    return {"weight": (first, second // groups, *kernel), "bias": (layer["out_channels"],)}


def mamba_shapes(layer):
    f, d, state, kernel, rank = mamba_sizes(layer)
    return {"norm.gain": (f,), "in_proj": (2 * d, f), "conv_weight": (d, 1, kernel), "conv_bias": (d,),
            "x_proj": (rank + 2 * state, d), "dt_proj": (d, rank), "dt_bias": (d,), "a_log": (d, state), "skip": (d,),
            "out_proj": (f, d)}


def recurrent_shapes(gates, biases):
    return lambda layer: {"weight_ih": (gates * layer["hidden"], layer["in"]),
                          "weight_hh": (gates * layer["hidden"], layer["hidden"]),
                          **{bias: (gates * layer["hidden"],) for bias in biases}}


SHAPES = {
    "dense": lambda layer: {"weight": (layer["out"], layer["in"]), "bias": (layer["out"],)},
    "multi_head_attention": attention_shapes,
    "swiglu": lambda layer: {
        "gate_weight": (layer["hidden"], layer["features"]), "up_weight": (layer["hidden"], layer["features"]),
        "down_weight": (layer["features"], layer["hidden"]), "gate_bias": (layer["hidden"],),
        "up_bias": (layer["hidden"],), "down_bias": (layer["features"],)},
    "rms_norm": lambda layer: {"gain": (layer["features"],)},
    "layer_norm": lambda layer: {"gain": (layer["features"],), "bias": (layer["features"],)},
    "rnn": recurrent_shapes(1, ["bias"]), "lstm": recurrent_shapes(4, ["bias"]),
    "gru": recurrent_shapes(3, ["bias_ih", "bias_hh"]),
    "mgu": recurrent_shapes(2, ["bias"]), "ugrnn": recurrent_shapes(2, ["bias"]),
    "delta": recurrent_shapes(1, ["alpha", "beta_1", "beta_2", "bias", "gate_bias"]),
    "embedding": lambda layer: {"table": (layer["vocabulary"], layer["features"])},
    "kmeans": lambda layer: {"centers": (layer["clusters"], layer["features"])},
    "mamba": mamba_shapes,
    **{f"conv{n}d": lambda layer, n=n: kernel_shapes(layer, n, False) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": lambda layer, n=n: kernel_shapes(layer, n, True) for n in (1, 2, 3)},
}
