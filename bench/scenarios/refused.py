"""The request over its limit."""

from harness.install import BENCH
from harness.load import drive
from harness.peers import programs
from harness.peers.pocketbase import PocketBase
from harness.peers.proxies import HAProxy, Nginx
from harness.peers.zonai import Zonai, path

NAME = "refused"
TITLE = "A refused request"
SHOWS = (
    "One client far over 100 requests a minute, on 64 kept connections: nearly every answer is a 429. `zonai` is asked what all the others are, "
    "the same each time; `zonai-other-rows` for one of 1,000 rows after another; `zonai-other-headers` with a header that is another each "
    "time, so that no request is known by its bytes."
)
SHOWS_NOT = (
    "What a refusal costs with many clients at once, over new connections or with a body. nginx and HAProxy know the path and "
    "the address, not the table, which Zonai reads from the payload; `constant` (hyper alone) and `axum-constant` read nothing and answer 200."
)
BASELINE = "constant"


def row(number):
    return path("/db", {"table": "items", "where": {"type": "eq", "column": "id", "value": f"{number:015}_it"}})


URL = row(123_456_789_012_345)


class Asked(Zonai):
    """Asked for one path after another, with the flags of paths.lua."""

    def __init__(self, paths, *flags):
        super().__init__(limited=True)
        self.paths, self.flags = paths, flags

    def arguments(self):
        file = self.folder / "paths"
        file.write_text("".join(f"{path}\n" for path in self.paths))
        return [file, *self.flags]


PEERS = {
    "zonai": lambda: Zonai(limited=True),
    "zonai-other-rows": lambda: Asked([row(number) for number in range(1_000)]),
    "zonai-other-headers": lambda: Asked([URL] * 1_000, "numbered"),
    "constant": programs.constant,
    "axum-constant": programs.axum_constant,
    "hyper-governor": programs.hyper_governor,
    "axum-tower-governor": programs.axum_tower_governor,
    "nginx": Nginx,
    "haproxy": HAProxy,
    "pocketbase": lambda: PocketBase(limited=True),
}


def measure(peer, seconds):
    url = "/api/collections/items/records/0123456789abcde" if isinstance(peer, PocketBase) else URL
    if isinstance(peer, Asked):
        measured = drive(peer.server, peer.origin, seconds, script=BENCH / "lua" / "paths.lua", arguments=peer.arguments())
    else:
        measured = drive(peer.server, peer.origin + url, seconds)
    measured.constant = getattr(peer, "name", "").endswith("constant")
    return measured


def check(measured):
    if measured.constant:
        return "the floor refused something" if measured.refused else ""
    admitted = measured.requests - measured.refused
    return f"{admitted} of {measured.requests} were admitted" if admitted * 100 > measured.requests else ""
