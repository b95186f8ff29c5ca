"""Losses, optimizers and number formats, written from their definitions on PyTorch and NumPy."""
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
