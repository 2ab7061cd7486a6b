"""The programs under bench/programs: the floor, and what Rust authors use today."""

import tomllib

from ..install import BENCH, PROGRAMS
from .base import Peer


class Program(Peer):
    """`crate_name`: whose version is shown."""

    def __init__(self, name: str, crate_name: str, *arguments):
        super().__init__()
        self.name, self.crate_name, self.arguments = name, crate_name, arguments

    def command(self):
        lock = tomllib.loads((BENCH / "Cargo.lock").read_text())
        self.version = next(package["version"] for package in lock["package"] if package["name"] == self.crate_name)
        return [PROGRAMS / f"bench-{self.name}", self.port, *self.arguments]


def constant():
    return Program("constant", "hyper")


def axum_constant():
    return Program("axum-constant", "axum")


def hyper_governor(*arguments):
    return Program("hyper-governor", "governor", *arguments)


def axum_tower_governor():
    return Program("axum-tower-governor", "tower_governor")
