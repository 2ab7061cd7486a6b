"""The admitted create."""

import json

from harness.install import BENCH
from harness.load import drive
from harness.peers.pocketbase import PocketBase
from harness.peers.zonai import Zonai

NAME = "create"
TITLE = "A row created"
SHOWS = "32 connections that each create one row after the other, without limits; all answers are 200 and each row is committed."
SHOWS_NOT = (
    "Latency, and what a power cut costs: both sides use SQLite's write-ahead log with `synchronous=NORMAL`. "
    "Hooks, unique constraints and large rows."
)
BASELINE = "zonai"
# Zonai answers 503 when more than 64 writes wait; 32 connections keep both sides inside their limits.
CONNECTIONS = 32
PEERS = {
    "zonai": lambda: Zonai(limited=False),
    "pocketbase": lambda: PocketBase(limited=False),
}


def measure(peer, seconds):
    path, body = peer.create()
    script = BENCH / "lua" / "post.lua"
    text = json.dumps(body, separators=(",", ":"))
    return drive(peer.server, peer.origin + path, seconds, connections=CONNECTIONS, script=script, arguments=[text])


def check(measured):
    return f"{measured.refused} of {measured.requests} failed" if measured.refused else ""
