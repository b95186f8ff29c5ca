"""Hosts made of network namespaces on this machine, between which MPI speaks TCP as between real ones."""
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

NETWORK = "10.78.0"
BRIDGE = "cambrian-net"
LOCK = "/run/cambrian-virtual-hosts.lock"  # Names and addresses are those of the machine, not of a checkout.
SKIPPED = 77  # What ctest takes for a test that could not run.


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], check=check, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def name(host):
    return f"cambrian-{host}"


class VirtualHosts:
    """As many hosts as asked, gone again at the end; who wants some while there are others waits for the end of these. Ends the test
    as skipped where namespaces are not allowed."""

    def __init__(self, count, directory, slots=2):
        self.count, self.directory = count, Path(directory)
        self.lock = None
        try:
            self.lock = open(LOCK, "w", encoding="utf-8")  # Nobody inherits it, so it ends with this process.
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            self.remove()
            self.make()
        except (OSError, subprocess.CalledProcessError) as error:
            if self.lock is not None:
                self.remove()
            why = (getattr(error, "stderr", None) or str(error)).strip()
            print(f"skipped: no network namespaces can be made here ({why})", file=sys.stderr)
            sys.exit(SKIPPED)
        self.directory.mkdir(parents=True, exist_ok=True)
        hosts = self.directory / "hosts"
        hosts.write_text("".join(f"{NETWORK}.{host} slots={slots}\n" for host in self.numbers()))
        agent = self.directory / "agent"
        agent.write_text('#!/usr/bin/env bash\nhost=$1; shift\n'
                         'exec ip netns exec "cambrian-${host##*.}" unshare --uts bash -c '
                         '"hostname virtual-${host##*.}; $*"\n')
        agent.chmod(0o755)
        self.flags = ["--hostfile", str(hosts), "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self",
                      "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24", "--mca", "oob_tcp_if_include", f"{NETWORK}.0/24",
                      "-x", "OMPI_ALLOW_RUN_AS_ROOT", "-x", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]

    def numbers(self):
        return range(1, self.count + 1)

    def make(self):
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for host in self.numbers():
            ip("netns", "add", name(host))
            ip("link", "add", name(host), "type", "veth", "peer", "name", "eth0", "netns", name(host))
            ip("link", "set", name(host), "master", BRIDGE, "up")
            ip("-n", name(host), "addr", "add", f"{NETWORK}.{host}/24", "dev", "eth0")
            ip("-n", name(host), "link", "set", "eth0", "up")
            ip("-n", name(host), "link", "set", "lo", "up")

    def remove(self):
        for host in range(1, 10):
            ip("netns", "del", name(host), check=False)
            ip("link", "del", name(host), check=False)
        ip("link", "del", BRIDGE, check=False)

    def cut_off(self, host):
        ip("link", "set", name(host), "down")

    def bring_back(self, host):
        """Returns once the host can be reached: a bridge takes a while to learn of it."""
        ip("link", "set", name(host), "up")
        knock = ["ip", "netns", "exec", name(host), "timeout", "1", "bash", "-c", f"exec 3<>/dev/tcp/{NETWORK}.254/1"]
        for _ in range(60):
            if "refused" in subprocess.run(knock, check=False, stderr=subprocess.PIPE, text=True).stderr:
                return
            time.sleep(0.1)
        raise RuntimeError(f"host {host} does not come back")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
        self.lock.close()
