"""What every peer has in common."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..process import Server, free_port


class Peer:
    """A server that runs for a scenario. `version` is what it says of itself."""

    version = ""
    environment = {}

    def __init__(self):
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="zonai-bench-"))
        self.origin = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        try:
            command = self.command()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.server = Server(command, self.port, folder=self.folder, environment=self.environment)
        self.server.__enter__()
        try:
            self.prepare()
        except BaseException:
            self.server.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def prepare(self):
        """What is done once it runs."""


def version_of(*command) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
    return found[0] if found else "?"
