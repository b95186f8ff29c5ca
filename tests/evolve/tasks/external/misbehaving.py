"""A simulator that behaves as its argument says: MODE, or MODE:N for networks whose action is N alone."""
import json
import os
import signal
import sys
import time

mode, _, culprit = sys.argv[1].partition(":")


def answer(content):
    sys.stdout.write((content if isinstance(content, str) else json.dumps(content)) + "\n")
    sys.stdout.flush()


def misbehave(right):
    """Answers wrongly; `right` is what would have been right."""
    worlds = len(right.get("observations", [])) if isinstance(right.get("observations"), list) else 0
    ways = {
        "exit": lambda: sys.exit(3),
        "signal": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "hang": lambda: time.sleep(1000),
        "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "close": lambda: (os.close(1), time.sleep(1000)),
        "garbage": lambda: answer("Traceback (most recent call last):"),
        "half": lambda: (sys.stdout.write('{"observations": [[0'), sys.stdout.flush(), time.sleep(1000)),
        "empty": lambda: answer(""),
        "list": lambda: answer("[1, 2]"),
        "nan": lambda: answer('{"observations": [[NaN]], "rewards": [NaN], "done": [false]}'),
        "huge": lambda: answer(dict(right, observations=[[1e300]] * worlds)),
        "infinite": lambda: answer(dict(right, observations=1e999)),
        "binary": lambda: (sys.stdout.buffer.write(b'\xff\xfe{"a"\x00}\n'), sys.stdout.flush()),
        "nested": lambda: answer("[" * 100000),
        "few": lambda: answer(dict(right, observations=[[0.0]] * max(0, worlds - 1))),
        "many": lambda: answer(dict(right, observations=[[0.0]] * (worlds + 1))),
        "wide": lambda: answer(dict(right, observations=[[0.0, 0.0]] * worlds)),
        "text": lambda: answer(dict(right, observations=[["0"]] * worlds)),
        "null": lambda: answer(dict(right, observations=None)),
        "twice": lambda: answer('{"observations": [], "observations": []}'),
        "error": lambda: answer({"error": "out of coffee"}),
        "protocol": lambda: answer(dict(right, protocol=99)),
        "names": lambda: answer(dict(right, observations=["a", "a"])),
        "nothing": lambda: answer(dict(right, actions=0)),
        "endless": lambda: [sys.stdout.write("x" * 65536) for _ in range(2000)],
    }
    ways[mode]()


begins = len(sys.argv) > 2 and sys.argv[2] == "hello"
for line in sys.stdin:
    message = json.loads(line)
    if "cambrian" in message:
        right = {"protocol": 1, "observations": ["x"], "actions": ["a"]}
        wrong = begins
    elif "reset" in message:
        right = {"observations": [[0.0]] * len(message["reset"])}
        wrong = False
    else:
        actions = [row[0] for row in message["actions"]]
        right = {"observations": [[1.0]] * len(actions), "rewards": actions, "done": [True] * len(actions)}
        wrong = culprit == "" or float(culprit) in actions
    if wrong and mode != "well":
        misbehave(right)
    else:
        answer(right)
