"""How long a start takes with counters in the file."""

from harness.clients import play
from harness.load import Figure
from harness.peers.zonai import Zonai

NAME = "start"
TITLE = "A start with 900,000 stored counters"
UNIT = "ms from the start of the process until its first answer"
SHOWS = "A clean stop with 900,000 open counters, and the start after it, beside a start with none."
SHOWS_NOT = "A cold page cache, or a reboot. A window of a minute that has closed meanwhile is read and left out."
BASELINE = "zonai, none stored"
WARM_UP = False
CLIENTS = 900_000


def server(clients: int):
    peer = Zonai(limited=True, forwarded=True)
    peer.clients = clients
    return peer


PEERS = {
    "zonai": lambda: server(CLIENTS),
    "zonai, none stored": lambda: server(0),
}


def measure(peer, _):
    if peer.clients:
        play(peer.port, peer.clients)
    peer.server.stop()
    took = peer.server.start()
    size = sum(file.stat().st_size for file in peer.folder.rglob("zonai_rate_limit.sqlite*"))
    return Figure(took * 1e3, f"file of {size / 1e6:.1f} MB")


def check(_):
    return ""
