"""A program that behaves as its argument says: MODE, or MODE:N for networks whose action or number is N alone.

With "hello" it does so in its first answer, else when it is asked about worlds or networks.
"""
import json
import os
import signal
import struct
import sys
import time

mode, _, culprit = sys.argv[1].partition(":")
begins = "hello" in sys.argv[2:]
frames = "json"


def speak(msgpack):
    """Where it is not spoken, its reader is not loaded: a program is started for every way and again."""
    global frames, cambrian
    if msgpack:
        frames = "msgpack"
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../configs/python"))
        import cambrian


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def framed(data, length=None):
    write(struct.pack(">I", len(data) if length is None else length) + data)


def answer(content):
    if frames == "json":
        write((content if isinstance(content, str) else json.dumps(content)).encode() + b"\n")
    else:
        framed(cambrian.pack(content))


def misbehave(right):
    """Answers wrongly; `right` is what would have been right."""
    key = "fitness" if "fitness" in right else "observations"
    asked = len(right[key]) if isinstance(right[key], list) else 0
    one = 0.0 if key == "fitness" else [0.0]

    def with_values(values):
        answer(dict(right, **{key: values}))

    ways = {
        "exit": lambda: sys.exit(3),
        "signal": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "hang": lambda: time.sleep(1000),
        "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "close": lambda: (os.close(1), time.sleep(1000)),
        "garbage": lambda: write(b"Traceback (most recent call last):\n"),
        "list": lambda: answer([1, 2]),
        "few": lambda: with_values([one] * max(0, asked - 1)),
        "many": lambda: with_values([one] * (asked + 1)),
        "wide": lambda: with_values([[0.0, 0.0]] * asked),
        "text": lambda: with_values(["0"] * asked),
        "null": lambda: with_values(None),
        "huge": lambda: with_values([[1e300]] * asked),
        "missing": lambda: answer({"other": 1}),
        "error": lambda: answer({"error": "out of coffee"}),
        "talks": lambda: (answer(right), answer(right)),
        "protocol": lambda: answer(dict(right, protocol=99)),
        "names": lambda: answer(dict(right, observations=["a", "a"])),
        "nothing": lambda: answer(dict(right, actions=0)),
        "level": lambda: answer(dict(right, level="dance")),
        "frames": lambda: answer(dict(right, frames="smoke")),
        "ids": lambda: answer(dict(right, ids=3)),
        "endless": lambda: [sys.stdout.write("x" * 65536) for _ in range(2000)],
    }
    lines = {
        "half": lambda: (write(b'{"observations": [[0'), time.sleep(1000)),
        "empty": lambda: answer(""),
        "nan": lambda: answer('{"%s": [NaN], "rewards": [NaN], "done": [false]}' % key),
        "infinite": lambda: answer('{"%s": [1e999]}' % key),
        "binary": lambda: write(b'\xff\xfe{"a"\x00}\n'),
        "nested": lambda: answer("[" * 100000),
        "twice": lambda: answer('{"%s": [], "%s": []}' % (key, key)),
    }
    if frames == "json":
        ways.update(lines)
        ways[mode]()
        return
    packed = cambrian.pack(right)
    name = cambrian.pack(key)
    in_frames = {
        "half": lambda: (framed(packed[:-3], len(packed)), time.sleep(1000)),
        "long": lambda: (framed(packed, len(packed) + 5), time.sleep(1000)),
        "short": lambda: framed(packed, len(packed) - 1),
        "truncated": lambda: (framed(packed[:-3], len(packed)), sys.exit(0)),
        "oversize": lambda: framed(packed, 0xFFFFFFFF),
        "line": lambda: write(json.dumps(right).encode() + b"\n"),
        "empty": lambda: framed(b""),
        "nan": lambda: with_values([float("nan")] * asked),
        "infinite": lambda: with_values(struct.pack("<d", float("inf")) * asked),
        "binary": lambda: framed(b"\xc1\xff\x00"),
        "nested": lambda: framed(b"\x91" * 100000),
        "twice": lambda: framed(b"\x82" + name + b"\xc0" + name + b"\xc0"),
        "lying list": lambda: framed(b"\x81" + name + b"\xdd\xff\xff\xff\xff"),
        "lying bytes": lambda: framed(b"\x81" + name + b"\xc6\xff\xff\xff\xff\x00"),
        "lying map": lambda: framed(b"\xdf\xff\xff\xff\xff" + name),
        "extension": lambda: framed(b"\x81" + name + b"\xc7" + bytes([8 * asked, 1]) + bytes(8 * asked)),
        "uneven": lambda: with_values(b"\x00\x00\x00"),
        "number key": lambda: framed(b"\x81\x01\x02"),
        "maybe": lambda: answer(dict(right, done=b"\x02" * asked)),
    }
    ways.update(in_frames)
    ways[mode]()


def receive():
    if frames == "json":
        line = sys.stdin.buffer.readline()
        return json.loads(line) if line else None
    head = sys.stdin.buffer.read(4)
    return cambrian.unpack(sys.stdin.buffer.read(struct.unpack(">I", head)[0])) if head else None


def numbers(form, data):
    return list(struct.unpack(f"<{len(data) // 4}{form}", data)) if isinstance(data, bytes) else data


while (message := receive()) is not None:
    spoken = None
    if "cambrian" in message:
        spoken = message["cambrian"]["frames"]
        right = {"protocol": 1, "observations": ["x"], "actions": ["a"], "level": message["cambrian"]["level"],
                 "frames": spoken}
        wrong = begins
    elif "reset" in message:
        right = {"observations": [[0.0]] * len(message["reset"])}
        wrong = False
    elif "judge" in message:
        fitness = [numbers("f", network["tensors"][1]["values"])[0] for network in message["judge"]]
        right = {"fitness": fitness}
        wrong = culprit == "" or float(culprit) in fitness
    else:
        actions = numbers("f", message["actions"])
        actions = [row[0] if isinstance(row, list) else row for row in actions]
        right = {"observations": [[1.0]] * len(actions), "rewards": actions, "done": [True] * len(actions)}
        wrong = culprit == "" or float(culprit) in actions
    if wrong and mode != "well":
        misbehave(right)
    else:
        answer(right)
    if spoken is not None:
        speak(spoken == "msgpack")
