"""What one client costs in memory."""

from harness.clients import play
from harness.load import Figure
from harness.peers import programs
from harness.peers.zonai import Zonai

NAME = "memory"
TITLE = "Memory for one client"
UNIT = "bytes of resident memory for one more client"
SHOWS = "900,000 clients, one counted request each, named by a trusted forwarded header: growth of the process over the clients."
SHOWS_NOT = (
    "Clients with counters of many tables, and what the counter file's thread holds at other times. "
    "nginx and HAProxy reserve a fixed zone and are not comparable."
)
BASELINE = "zonai"
WARM_UP = False
# Below Zonai's default cap, past which clients share counters.
CLIENTS = 900_000
PEERS = {
    "zonai": lambda: Zonai(limited=True, forwarded=True),
    "hyper-governor": lambda: programs.hyper_governor("forwarded"),
}


def measure(peer, _):
    # Each round begins with a new process: counters of the round before would be found again.
    peer.server.stop()
    for file in peer.folder.rglob("zonai_rate_limit.sqlite*"):
        file.unlink()
    peer.server.start()
    play(peer.port, 1_000, "/warm")
    before = peer.server.memory_kib()
    seen = play(peer.port, CLIENTS)
    grown = (peer.server.memory_kib() - before) * 1024
    errors = "" if sum(seen.values()) == CLIENTS and "429" not in seen else f"answers: {seen}"
    return Figure(grown / CLIENTS, f"{grown / 1e6:.1f} MB for {CLIENTS:,} clients", errors)


def check(_):
    return ""
