"""A server under test: started on one core, its processor time read from /proc, stopped for certain.

Must never signal a process that it did not start.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SERVER_CORE, CLIENT_CORE = "0", "1"
TICKS = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A process tree on the server's core. Use it in a `with`."""

    def __init__(self, command, port, *, folder=None, environment=None, stop=signal.SIGTERM):
        self.command, self.port, self.stop_signal = command, port, stop
        self.folder = folder or Path(tempfile.mkdtemp(prefix="zonai-bench-"))
        self.environment = environment or {}
        self.process = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> float:
        """Seconds until it answers."""
        begun = time.monotonic()
        self.log = open(self.folder / "server.log", "w+b")
        self.process = subprocess.Popen(
            ["taskset", "-c", SERVER_CORE, *map(str, self.command)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, **self.environment}, cwd=self.folder, start_new_session=True,
        )
        while time.monotonic() < begun + 60 and self.process.poll() is None:
            if self.answers():
                return time.monotonic() - begun
            time.sleep(0.005)
        raise RuntimeError(f"{self.command[0]} did not start:\n{self.log_text()}")

    def answers(self) -> bool:
        """Whether it answers anything at all: a port may be open before a server is ready."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=10) as probe:
                probe.sendall(b"GET /health HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")
                return probe.recv(8) == b"HTTP/1.1"
        except OSError:
            return False

    def stop(self):
        """Politely, then not."""
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(5)
        self.log.close()

    def log_text(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-4_000:]

    def cpu_seconds(self) -> float:
        """User and system time of the process and all its children, threads included."""
        return sum(ticks(pid) for pid in tree(self.process.pid)) / TICKS

    def memory_kib(self) -> int:
        """Resident memory of the tree."""
        total = 0
        for pid in tree(self.process.pid):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1])
        return total

    def open_files(self) -> int:
        """Of the tree: files, sockets and whatever else has a number."""
        return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in tree(self.process.pid))


def slope(values) -> float:
    """Least squares: growth from one value to the next."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((at - middle) * (value - mean) for at, value in enumerate(values))
    return above / sum((at - middle) ** 2 for at in range(len(values)))


def tree(root: int) -> list[int]:
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except FileNotFoundError:
            pass
    return found


def ticks(pid: int) -> int:
    try:
        # The name in brackets may hold blanks; user and system time are the 12th and 13th field after it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return int(fields[11]) + int(fields[12])
