"""One decision in process, without HTTP."""

import json
import subprocess
import tomllib

from harness.install import BENCH, PROGRAMS
from harness.load import Figure

NAME = "decision"
TITLE = "One decision, in process"
UNIT = "ns for one decision, 100,000 clients in random order"
SHOWS = (
    "One thread, one limit a client, nothing refused; the best of 15 turns of a million. `sketch` is the least that could do: "
    "sharded locks over hash tables, no bound, nothing reclaimed, nothing stored. `governor, clock aside` is governor with a "
    "clock that stands still; ours takes the time as an argument, and a server reads it once a request."
)
SHOWS_NOT = "Several limits for one request, threads that meet, growth: `bench/target/release/decision` measures these, too."
BASELINE = "sketch"
WARM_UP = False
KEYS = {
    "zonai": "zonai_100k_ns",
    "sketch": "sketch_100k_ns",
    "governor": "governor_100k_ns",
    "governor, clock aside": "governor_100k_clock_aside_ns",
}


class Part:
    """One figure of a run in which all take turns; the first that is asked runs it."""

    figures = {}

    def __init__(self, name: str):
        self.name = name
        self.version = version(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def version(name: str) -> str:
    lock = tomllib.loads((BENCH / "decision" / "Cargo.lock").read_text())
    crate = {"zonai": "zonai-limit", "sketch": "hashbrown"}.get(name, "governor")
    return next(package["version"] for package in lock["package"] if package["name"] == crate)


PEERS = {name: lambda name=name: Part(name) for name in KEYS}


def measure(part, _):
    if part.name == next(iter(KEYS)):
        ran = subprocess.run([PROGRAMS / "decision", "--part", "speed"], check=True, capture_output=True, text=True)
        Part.figures = json.loads(ran.stdout)
    return Figure(Part.figures[KEYS[part.name]], "ns")


def check(_):
    return ""
