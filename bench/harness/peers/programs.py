"""The programs under bench/programs: the floor, and what Rust authors use today."""

import tomllib

from ..install import BENCH, PROGRAMS
from .base import Peer


class Program(Peer):
    """`crate_name`: whose version is shown."""

    def __init__(self, name: str, crate_name: str):
        super().__init__()
        self.name, self.crate_name = name, crate_name

    def command(self):
        lock = tomllib.loads((BENCH / "Cargo.lock").read_text())
        self.version = next(package["version"] for package in lock["package"] if package["name"] == self.crate_name)
        return [PROGRAMS / f"bench-{self.name}", self.port]


def constant():
    return Program("constant", "hyper")


def hyper_governor():
    return Program("hyper-governor", "governor")


def axum_tower_governor():
    return Program("axum-tower-governor", "tower_governor")
