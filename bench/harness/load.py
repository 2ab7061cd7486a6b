"""Load by wrk from the client's core, and what the server spent on it."""

import re
import subprocess
from dataclasses import dataclass

from .process import CLIENT_CORE, Server


@dataclass
class Measured:
    requests: int
    refused: int
    seconds: float
    cpu_seconds: float
    errors: str

    @property
    def cpu_us(self) -> float:
        """Microseconds of the server's processor time for one request."""
        return self.cpu_seconds * 1e6 / max(self.requests, 1)

    @property
    def figure(self) -> float:
        return self.cpu_us

    @property
    def note(self) -> str:
        return f"{self.requests} requests, {self.requests / max(self.cpu_seconds, 1e-9):,.0f}/s/core"


@dataclass
class Figure:
    """What a scenario measured by itself, in its own unit."""

    figure: float
    note: str = ""
    errors: str = ""


CPU = "µs of the server's processor time for one request"


def drive(server: Server, url: str, seconds: int, *, connections=64, script=None, arguments=()) -> Measured:
    command = ["taskset", "-c", CLIENT_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s"]
    if script:
        command += ["-s", str(script)]
    command += [url, *(["--", *map(str, arguments)] if arguments else [])]
    before = server.cpu_seconds()
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=True)
    spent = server.cpu_seconds() - before
    return parse(done.stdout, spent)


def parse(printed: str, cpu_seconds: float) -> Measured:
    total = re.search(r"(\d+) requests in ([\d.]+)(ms|s|m)", printed)
    if not total:
        raise RuntimeError(f"wrk said:\n{printed}")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", printed)
    errors = re.search(r"Socket errors: (.*)", printed)
    seconds = float(total[2]) * {"ms": 0.001, "s": 1, "m": 60}[total[3]]
    return Measured(int(total[1]), int(refused[1]) if refused else 0, seconds, cpu_seconds, errors[1] if errors else "")
