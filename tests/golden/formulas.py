"""Losses, optimizers and number formats, written from their definitions on PyTorch and NumPy."""
import math

import numpy
import torch


def loss(settings, prediction, target):
    kind = settings["type"]
    if kind == "cross_entropy":
        counted = target != settings.get("ignore_index", -1)
        logits, labels = prediction[counted], target[counted]
        return (logits.logsumexp(-1) - logits.gather(-1, labels[:, None])[:, 0]).mean()
    if kind == "bce_with_logits":
        x = prediction
        return (x.clamp(min=0) - x * target + torch.log1p(torch.exp(-x.abs()))).mean()
    difference = prediction - target
    if kind == "mse":
        return (difference**2).mean()
    size = difference.abs()
    if kind == "mae":
        return size.mean()
    if kind == "huber":
        delta = settings.get("delta", 1.0)
        return torch.where(size <= delta, 0.5 * difference**2, delta * (size - 0.5 * delta)).mean()
    raise SystemExit(f"no formula for the loss {kind}")


def sgd(settings, value, gradient, step, moments):
    momentum = settings.get("momentum", 0.0)
    moments["mean"] = momentum * moments.get("mean", 0.0) + gradient
    direction = gradient + momentum * moments["mean"] if settings.get("nesterov") else moments["mean"]
    return value - settings["learning_rate"] * direction


def adam(settings, value, gradient, step, moments):
    beta1, beta2 = settings.get("beta1", 0.9), settings.get("beta2", 0.999)
    moments["mean"] = beta1 * moments.get("mean", 0.0) + (1 - beta1) * gradient
    moments["square"] = beta2 * moments.get("square", 0.0) + (1 - beta2) * gradient**2
    mean, square = moments["mean"] / (1 - beta1**step), moments["square"] / (1 - beta2**step)
    return value - settings["learning_rate"] * mean / (square.sqrt() + settings.get("epsilon", 1e-8))


def rmsprop(settings, value, gradient, step, moments):
    alpha = settings.get("alpha", 0.99)
    moments["square"] = alpha * moments.get("square", 0.0) + (1 - alpha) * gradient**2
    return value - settings["learning_rate"] * gradient / (moments["square"].sqrt() + settings.get("epsilon", 1e-8))


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adamw": adam, "rmsprop": rmsprop}


def trajectory(settings, value, gradients):
    """The value after each step."""
    rule, decay, moments, values = OPTIMIZERS[settings["type"]], settings.get("weight_decay", 0.0), {}, []
    for step, gradient in enumerate(gradients, 1):
        if "clip_norm" in settings:  # PyTorch's clip_grad_norm_, with its guard against a norm of 0.
            gradient = gradient * min(1.0, settings["clip_norm"] / (float(gradient.norm()) + 1e-6))
        if settings["type"] == "adamw":
            value = value * (1 - settings["learning_rate"] * decay)
        else:
            gradient = gradient + decay * value
        value = rule(settings, value, gradient, step, moments)
        values.append(value)
    return torch.stack(values)


# Bits of exponent and mantissa, and which codes are no numbers: those of IEEE, the last one, none.
FORMATS = {"float16": (5, 10, "ieee"), "bfloat16": (8, 7, "ieee"), "fp8e4m3": (4, 3, "last"),
           "fp8e5m2": (5, 2, "ieee"), "fp4": (2, 1, "none")}


def decoded(name, codes):
    """The float32 of each code: ±2^(e − bias) (1 + m), or ±2^(1 − bias) m where e is 0."""
    exponent_bits, mantissa_bits, special = FORMATS[name]
    codes = codes.astype(numpy.int64)
    mantissa = (codes & (1 << mantissa_bits) - 1) / 2.0**mantissa_bits
    exponent = codes >> mantissa_bits & (1 << exponent_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    size = numpy.where(exponent > 0, 1 + mantissa, mantissa) * 2.0 ** (numpy.maximum(exponent, 1) - bias)
    last = exponent == (1 << exponent_bits) - 1
    if special == "ieee":
        size = numpy.where(last, numpy.where(mantissa == 0, numpy.inf, numpy.nan), size)
    if special == "last":
        size = numpy.where(last & (mantissa == 1 - 2.0**-mantissa_bits), numpy.nan, size)
    negative = codes >> exponent_bits + mantissa_bits == 1
    return numpy.where(negative, -size, size).astype(numpy.float32)


def encoded(name, values):
    """The code of the nearest number, the even one of two, the largest for what is beyond."""
    exponent_bits, mantissa_bits, _ = FORMATS[name]
    positive = decoded(name, numpy.arange(1 << exponent_bits + mantissa_bits)).astype(numpy.float64)
    positive = positive[numpy.isfinite(positive)]
    size = numpy.abs(values.astype(numpy.float64))
    upper = numpy.searchsorted(positive, size).clip(1, len(positive) - 1)
    below, above = size - positive[upper - 1], positive[upper] - size
    code = numpy.where((above < below) | ((above == below) & (upper % 2 == 0)), upper, upper - 1)
    return code + (numpy.signbit(values).astype(numpy.int64) << exponent_bits + mantissa_bits)


# How matrices of weights are stored: the kind of codes, their bits, and what shares a scale where nothing else is said.
STORED = {
    "float64": ("ieee", 64, "none"), "float32": ("ieee", 32, "none"), "float16": ("float", 16, "none"), "bfloat16": ("float", 16, "none"),
    "float8_e4m3fn": ("float", 8, "row"), "float8_e5m2": ("float", 8, "row"),
    **{f"int{bits}": ("signed", bits, "row" if bits > 4 else "block") for bits in (64, 32, 16, 8, 4, 2)},
    **{f"uint{bits}": ("affine", bits, "row" if bits > 4 else "block") for bits in (64, 32, 16, 8, 4, 2)},
    "float4_e2m1fn": ("micro", 4, "block"), "ternary": ("ternary", 2, "row"), "binary": ("binary", 1, "row"), "q4_0": ("q4_0", 4, "block")}
SHORT = {"float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2", "float4_e2m1fn": "fp4"}
SCALES = {"format": None, "tensor": "tensor", "channel": "row", "block": "block", "mx": "block"}
BLOCK = 32


def choices(name):
    """What may share a scale of a format."""
    return ["format"] if STORED[name][2] == "none" or name == "q4_0" else list(SCALES)


def groups(name, scales, shape):
    """The flat indices of the numbers that share a scale, group by group."""
    shared = SCALES[scales] or STORED[name][2]
    rows = numpy.arange(shape[0] * shape[1]).reshape(shape)
    if shared in ("none", "tensor"):
        return [rows.reshape(-1)]
    length = shape[1] if shared == "row" else BLOCK
    return [row[first:first + length] for row in rows for first in range(0, shape[1], length)]


def largest_of(name):
    """The largest number that a code stands for, of kinds whose scale depends on it."""
    kind, bits, _ = STORED[name]
    if kind in ("float", "micro"):
        numbers = decoded(SHORT.get(name, name), numpy.arange(1 << bits))
        return float(numbers[numpy.isfinite(numbers)].max())
    return 2**bits - 1 if kind == "affine" else 2 ** (bits - 1) - 1


def power_below(x):
    return 2.0 ** (math.frexp(x)[1] - 1)


def power_above(x):
    return power_below(x) * (1 if power_below(x) == x else 2)


def scaling(name, numbers, power_of_two):
    """Scale, zero point and what numbers are divided by, of one group; infinities and NaN do not count."""
    kind, finite = STORED[name][0], numbers[numpy.isfinite(numbers)].astype(numpy.float64)
    sizes = numpy.abs(finite)
    largest, low, zero = float(sizes.max(initial=0.0)), 0.0, 0
    if STORED[name][2] == "none":
        return 1.0, 0, 1.0
    if kind == "q4_0":
        peak = float(finite[sizes.argmax()]) if len(finite) else 0.0
        divisor = float(numpy.float32(peak / -8))
        scale = float(decoded("float16", encoded("float16", numpy.array([divisor])))[0])
        return (scale, 0, divisor) if scale != 0 else (1.0, 0, 1.0)
    if kind in ("ternary", "binary"):
        scale = math.fsum(sizes) / len(sizes) if len(sizes) else 0.0
        scale = power_below(scale) if power_of_two and scale > 0 else scale
    elif kind == "affine":
        low = min(float(finite.min(initial=0.0)), 0.0)
        scale = (max(float(finite.max(initial=0.0)), 0.0) - low) / largest_of(name)
        scale = power_above(scale) if power_of_two and scale > 0 else scale
    elif power_of_two or kind == "micro":
        scale = power_below(largest) / 2.0 ** (int(largest_of(name)).bit_length() - 1) if largest > 0 else 0.0
    else:
        scale = largest / largest_of(name)
    divisor = float(numpy.float32(scale)) or 1.0
    if kind == "affine":
        zero = min(max(int(numpy.rint(-low / divisor)), 0), largest_of(name))
    return (0.0 if kind == "binary" and largest == 0 else divisor), zero, divisor


def stored_code(name, quotient, zero):
    """The code of a number that is divided by the scale, as a whole number."""
    kind, bits, _ = STORED[name]
    if kind == "ieee":
        return int(numpy.array(quotient).astype(f"<f{bits // 8}").view(f"<u{bits // 8}"))
    if kind in ("float", "micro"):
        exponent_bits, mantissa_bits, special = FORMATS[SHORT.get(name, name)]
        if math.isinf(quotient) and special == "ieee":
            return ((1 << exponent_bits) - 1 << mantissa_bits) + ((quotient < 0) << bits - 1)
        return int(encoded(SHORT.get(name, name), numpy.array([numpy.clip(quotient, -1e300, 1e300)]))[0])
    quotient = 0.0 if math.isnan(quotient) else quotient
    if kind == "binary":
        return int(quotient < 0)
    if kind == "q4_0":
        return int(numpy.clip(numpy.floor(quotient + 8.5), 0, 15))
    if kind == "affine":
        most = largest_of(name)
        return min(max(int(numpy.clip(numpy.rint(quotient) + float(zero), 0.0, float(most))), 0), most)
    most = largest_of(name)
    whole = int(numpy.clip(numpy.rint(quotient), -float(most), float(most)))
    return min(max(whole, -most), most) % 2**bits


def number_of(name, code):
    """What a code stands for without its scale, as a float64."""
    kind, bits, _ = STORED[name]
    if kind == "ieee":
        return float(numpy.array(code, f"<u{bits // 8}").view(f"<f{bits // 8}"))
    if kind in ("float", "micro"):
        return float(decoded(SHORT.get(name, name), numpy.array([code]))[0])
    if kind == "binary":
        return 1.0 - 2.0 * code
    if kind == "q4_0":
        return code - 8.0
    return float(code - 2**bits if kind != "affine" and code >= 2 ** (bits - 1) else code)


def stored_matrix(name, scales, matrix):
    """Codes and zero points as lists of whole numbers, scales, and the numbers that codes stand for."""
    codes, decodes, all_scales, zeros = [0] * matrix.size, numpy.empty(matrix.size, numpy.float32), [], []
    for group in groups(name, scales, matrix.shape):
        numbers = matrix.reshape(-1)[group]
        scale, zero, divisor = scaling(name, numbers, scales == "mx")
        for index, number in zip(group, numbers.astype(numpy.float64)):
            codes[index] = stored_code(name, float(number) / divisor, zero)
            decodes[index] = (number_of(name, codes[index]) - float(zero)) * scale
        all_scales.append(scale)
        zeros.append(zero)
    return codes, numpy.array(all_scales, numpy.float32), zeros, decodes.reshape(matrix.shape)
