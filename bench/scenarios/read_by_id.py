"""The admitted read of one row."""

from harness.load import drive
from harness.install import BENCH
from harness.peers.pocketbase import PocketBase
from harness.peers.zonai import Zonai

NAME = "read_by_id"
TITLE = "A row by its id"
SHOWS = "10,000 rows of five columns, each read by id in turn over 64 kept connections, without limits; all answers are 200."
SHOWS_NOT = "Rows that do not fit the page cache, rules that look at the row, or requests with a token."
BASELINE = "zonai"
ROWS = 10_000
PEERS = {
    "zonai": lambda: Zonai(limited=False, rows=ROWS),
    "pocketbase": lambda: PocketBase(limited=False, rows=ROWS),
}


def measure(peer, seconds):
    paths = peer.folder / "paths"
    if not paths.exists():
        paths.write_text("".join(f"{peer.by_id(row)}\n" for row in peer.ids))
    return drive(peer.server, peer.origin, seconds, script=BENCH / "lua" / "paths.lua", arguments=[paths])


def check(measured):
    return f"{measured.refused} of {measured.requests} failed" if measured.refused else ""
