#!/usr/bin/env python3
"""Opens pages of `cambrian report` in headless Chromium: what is drawn, that nothing fails, that a replay plays.

Usage: browser.py PROGRAM [--keep DIRECTORY]     exit code 77 where there is no Chromium
"""
import argparse
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


def browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    print("skipped: no Chromium is installed (apt-get install chromium)")
    sys.exit(77)


class Browser:
    def __init__(self, work):
        self.program = browser()
        self.profile = os.path.join(work, "profile")

    def run(self, address, *options):
        command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.profile}",
                   "--enable-logging=stderr", "--window-size=900,1400", *options, address]
        done = subprocess.run(command, capture_output=True, timeout=120, check=True)
        log = done.stderr.decode(errors="replace")
        # What a page says to its console, as opposed to what Chromium says of the machine.
        said = [line for line in log.splitlines() if "CONSOLE" in line]
        assert not said, said
        return done.stdout.decode(errors="replace")

    def document(self, address):
        """The page after its scripts have run for three seconds."""
        return self.run(address, "--dump-dom", "--virtual-time-budget=3000")

    def screenshot(self, address, path, height):
        self.run(address, f"--screenshot={path}", f"--window-size=900,{height}")
        return Pixels(path)


class Pixels:
    """A PNG of 8 bits a channel."""

    def __init__(self, path):
        data = open(path, "rb").read()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(data):
            size, kind = struct.unpack(">I4s", data[at : at + 8])
            body = data[at + 8 : at + 8 + size]
            if kind == b"IHDR":
                self.width, self.height, depth, colour = struct.unpack(">IIBB", body[:10])
                assert depth == 8 and colour in (2, 6)
                self.channels = 3 if colour == 2 else 4
            elif kind == b"IDAT":
                packed += body
            at += size + 12
        self.rows = self.unfiltered(zlib.decompress(packed))

    def unfiltered(self, raw):
        stride, step = self.width * self.channels, self.channels
        above, rows = bytearray(stride), []
        for y in range(self.height):
            start = y * (stride + 1)
            kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
            for i in range(stride):
                left = row[i - step] if i >= step else 0
                corner = above[i - step] if i >= step else 0
                if kind == 1:
                    row[i] = (row[i] + left) & 255
                elif kind == 2:
                    row[i] = (row[i] + above[i]) & 255
                elif kind == 3:
                    row[i] = (row[i] + (left + above[i]) // 2) & 255
                elif kind == 4:
                    guess = left + above[i] - corner
                    near = min((abs(guess - left), 0, left), (abs(guess - above[i]), 1, above[i]),
                               (abs(guess - corner), 2, corner))
                    row[i] = (row[i] + near[2]) & 255
            rows.append(row)
            above = row
        return rows

    def count(self, red, green, blue):
        wanted = bytes((red, green, blue))
        return sum(bytes(row[x : x + 3]) == wanted for row in self.rows for x in range(0, len(row), self.channels))


def evolve(program, config, directory, *overrides):
    command = [program, "evolve", os.path.join(SOURCE, "configs", config), "-q", "--set", f"run.directory={directory}",
               "--set", "run.stop.solved=null"]
    for override in overrides:
        command += ["--set", override]
    subprocess.run(command, check=True)


def report(program, *arguments):
    subprocess.run([program, "report", *arguments], check=True, stdout=subprocess.DEVNULL)


def check_pole(program, chromium, work):
    """A run with a replay: its script draws, plays, and says where it is."""
    run = os.path.join(work, "pole")
    evolve(program, "cart_pole.json", run, "run.stop.generations=6", "population.size=60", "splice.rate=0.5")
    report(program, run)
    page = os.path.join(run, "report.html")
    still = chromium.document("file://" + page)
    assert re.search(r'<g class="moving">(<\w+ [^>]*>(</\w+>)?){2,}</g>', still), "no mark is drawn by the script"
    assert "step 0 of " in still and '<div id="replay-controls">' in still
    assert still.count("<figure>") >= 5, still.count("<figure>")
    pixels = chromium.screenshot("file://" + page, os.path.join(work, "pole.png"), 4200)
    blue, orange, white = (pixels.count(*colour) for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (255, 255, 255)))
    assert blue > 1000 and orange > 200, (blue, orange)  # lines, cart; the pole
    assert white > 0.5 * pixels.width * pixels.height
    # The same page with somebody who presses the button.
    text = open(page).read()
    copy = os.path.join(work, "played.html")
    open(copy, "w").write(text.replace("</body>", "<script>document.getElementById('replay-button').click()</script></body>"))
    played = chromium.document("file://" + copy)
    step = int(re.search(r'id="replay-label">step (\d+) of', played).group(1))
    assert step > 20, step
    return run


def check_hostile(program, chromium, work):
    """Names that would be markup stay text."""
    run = os.path.join(work, "hostile")
    evolve(program, "xor_neat.json", run, "run.stop.generations=4",
           "run.name=\"<script>document.title='taken'</script><img src=x onerror=document.title='taken'>\"")
    report(program, run)
    shown = chromium.document("file://" + os.path.join(run, "report.html"))
    assert "<title>&lt;script&gt;" in shown and "<img" not in shown
    assert 'class="node"' in shown


def check_watch(program, chromium, run):
    watch = subprocess.Popen([program, "report", run, "--watch", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = watch.stdout.readline().split()[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address), address
        assert "step 0 of " in chromium.document(address)
    finally:
        watch.send_signal(signal.SIGINT)
        assert watch.wait(timeout=20) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--keep", help="a folder for pages and pictures")
    options = parser.parse_args()
    work = options.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    try:
        chromium = Browser(work)
        run = check_pole(options.program, chromium, work)
        check_hostile(options.program, chromium, work)
        check_watch(options.program, chromium, run)
    finally:
        if not options.keep:
            shutil.rmtree(work, ignore_errors=True)
    print("pages are drawn, a replay plays, names stay text, --watch serves")


if __name__ == "__main__":
    main()
