"""The admitted list of fifty rows with the total."""

from harness.install import BENCH
from harness.load import drive
from harness.peers.pocketbase import PocketBase
from harness.peers.zonai import Zonai

NAME = "list_of_50"
TITLE = "A list of 50 rows"
SHOWS = "Pages of 50 of 10,000 rows, newest first by an indexed column, each with the total of all rows, over 64 kept connections; all answers are 200."
SHOWS_NOT = "Filters, other orders, or lists whose rows are checked one by one. Both count all rows for the total."
BASELINE = "zonai"
ROWS, PAGE = 10_000, 50
PEERS = {
    "zonai": lambda: Zonai(limited=False, rows=ROWS),
    "pocketbase": lambda: PocketBase(limited=False, rows=ROWS),
}


def measure(peer, seconds):
    paths = peer.folder / "lists"
    if not paths.exists():
        paths.write_text("".join(f"{peer.list_of_50(offset)}\n" for offset in range(0, ROWS, PAGE)))
    return drive(peer.server, peer.origin, seconds, script=BENCH / "lua" / "paths.lua", arguments=[paths])


def check(measured):
    return f"{measured.refused} of {measured.requests} failed" if measured.refused else ""
