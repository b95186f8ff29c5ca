#!/usr/bin/env python3
"""Models that PyTorch has made and saved, loaded by cambrian and equal within 1e-5; and loaded back by PyTorch.

  check_torch.py PROGRAM      prints the largest difference of each; 1 where one is larger, 77 without PyTorch

Needs PyTorch (Debian: python3-torch); nothing else does.
"""
import csv
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: PyTorch is not here ({error}); install python3-torch")
    sys.exit(77)

LIMIT = 1e-5
TYPES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.int64: "I64"}


def save(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        part = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(data[8 + size:][slice(*entry["data_offsets"])]), dtype=torch.float32)
            .reshape(entry["shape"]) for name, entry in header.items()}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.LSTM(5, 16, 2, batch_first=True), nn.GRU(16, 12, batch_first=True)
        self.c, self.d = nn.RNN(12, 9, batch_first=True), nn.Linear(9, 4)

    def forward(self, x):
        for layer in (self.a, self.b, self.c):
            x, _ = layer(x)
        return self.d(x)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 3 * width), nn.ReLU(), nn.Linear(3 * width, width))

    def forward(self, x):
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        y = self.norm1(x)
        x = x + self.attn(y, y, y, attn_mask=later, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers = nn.Embedding(50, 24), nn.ModuleList(Block(24, 4) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(24), nn.Linear(24, 50, bias=False)

    def forward(self, x):
        x = self.embed(x[..., 0].long())
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Convolutional(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(8), nn.Conv2d(8, 6, 3, padding=1),
                         nn.ReLU(), nn.Linear(6 * 10 * 10, 7))

    def forward(self, x):
        x = x.reshape(-1, 3, 10, 10)
        for layer in self:
            x = layer(x.flatten(1) if isinstance(layer, nn.Linear) else x)
        return x


def cases():
    """Name, module, inputs, whether they are a sequence, options."""
    yield ("mlp", nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 20), nn.Tanh(), nn.Linear(20, 5)),
           torch.randn(16, 12), False, ["--activation", "tanh"])
    yield ("convolutional", Convolutional(), torch.randn(4, 300), False,
           ["--activation", "relu", "--with", "stride=1", "--with", "padding=1", "--with", "dilation=1",
            "--with", "epsilon=1e-5", "--input", "3,10,10"])
    yield "recurrent", Recurrent(), torch.randn(20, 5), True, []
    yield ("transformer", Transformer(), torch.randint(50, (24, 1)).float(), True,
           ["--heads", "4", "--with", "causal=true", "--with", "window=64", "--with", "rope_base=0", "--with", "epsilon=1e-5",
            "--activation", "relu", "--blocks", "pre_norm"])


def run(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {result.stderr}")


def main():
    program, failed = sys.argv[1], False
    torch.manual_seed(1)
    for name, module, inputs, is_sequence, options in cases():
        # Statistics and gains as after a training.
        for parameter in module.parameters():
            if parameter.dim() == 1:
                nn.init.normal_(parameter, 0.5, 0.2)
        for key, buffer in module.named_buffers():
            if "running" in key:
                buffer.uniform_(0.5, 1.5)
        module.eval()
        with torch.no_grad(), tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work)
            save(folder / "model.safetensors", module.state_dict())
            with open(folder / "rows.csv", "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([[f"x{i}" for i in range(inputs.shape[1])], *inputs.tolist()])
            run(program, "convert", folder / "model.safetensors", folder / "a.cmb", "--family", "torch", *options)
            run(program, "infer", folder / "a.cmb", "--input", folder / "rows.csv", "--raw", "--output", folder / "y.csv")
            with open(folder / "y.csv", encoding="utf-8") as file:
                given = torch.tensor([[float(x) for x in row] for row in list(csv.reader(file))[1:]])
            batch = inputs[None] if is_sequence else inputs
            expected = module(batch).reshape(given.shape)
            error = (given - expected).abs().max().item()
            # Back: the same numbers under the names of a chain, and for a chain of modules the module itself.
            run(program, "convert", folder / "a.cmb", folder / "out", "--family", "torch")
            back = load(folder / "out/model.safetensors")
            if isinstance(module, nn.Sequential):
                module.load_state_dict(back)
                error = max(error, (module(inputs) - expected).abs().max().item())
            print(f"{name}: {sum(p.numel() for p in module.parameters())} weights, largest difference {error:.2g}")
            failed = failed or not error < LIMIT
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
