"""The request over its limit."""

from harness.load import drive
from harness.peers import programs
from harness.peers.pocketbase import PocketBase
from harness.peers.proxies import HAProxy, Nginx
from harness.peers.zonai import Zonai, path

NAME = "refused"
TITLE = "A refused request"
SHOWS = "One client far over 100 requests a minute, on 64 kept connections: nearly every answer is a 429."
SHOWS_NOT = (
    "What a refusal costs with many clients at once, over new connections or with a body. nginx and HAProxy know the path and "
    "the address, not the table, which Zonai reads from the payload; `constant` (hyper alone) and `axum-constant` read nothing and answer 200."
)
BASELINE = "constant"
PEERS = {
    "zonai": lambda: Zonai(limited=True),
    "constant": programs.constant,
    "axum-constant": programs.axum_constant,
    "hyper-governor": programs.hyper_governor,
    "axum-tower-governor": programs.axum_tower_governor,
    "nginx": Nginx,
    "haproxy": HAProxy,
    "pocketbase": lambda: PocketBase(limited=True),
}
URL = path("/db", {"table": "items", "where": {"type": "eq", "column": "id", "value": "0123456789abcde_it"}})


def measure(peer, seconds):
    url = "/api/collections/items/records/0123456789abcde" if isinstance(peer, PocketBase) else URL
    measured = drive(peer.server, peer.origin + url, seconds)
    measured.constant = getattr(peer, "name", "").endswith("constant")
    return measured


def check(measured):
    if measured.constant:
        return "the floor refused something" if measured.refused else ""
    admitted = measured.requests - measured.refused
    return f"{admitted} of {measured.requests} were admitted" if admitted * 100 > measured.requests else ""
