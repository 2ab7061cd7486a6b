"""The admitted sign-in with a password."""

import json

from harness.install import BENCH
from harness.load import drive
from harness.peers.pocketbase import PocketBase
from harness.peers.zonai import Zonai

NAME = "sign_in"
TITLE = "A sign-in with a password"
SHOWS = "One account, 4 connections that sign in again and again, without limits; all answers are 200 with a new token."
SHOWS_NOT = (
    "The same work: it is the hash that costs, and a cheaper hash is no better server. Zonai uses Argon2id (19,456 KiB, 3 passes), "
    "PocketBase bcrypt (cost 10). Zonai also stores each token, so that it can be revoked."
)
BASELINE = "zonai"
ACCOUNT = ("bench@example.com", "correct horse battery")
PEERS = {
    "zonai": lambda: Zonai(limited=False, accounts=True),
    "pocketbase": lambda: PocketBase(limited=False),
}


def measure(peer, seconds):
    if not getattr(peer, "has_account", False):
        peer.sign_up(*ACCOUNT)
        peer.has_account = True
    path, body = peer.sign_in(*ACCOUNT)
    script = BENCH / "lua" / "post.lua"
    return drive(peer.server, peer.origin + path, seconds, connections=4, script=script, arguments=[json.dumps(body)])


def check(measured):
    return f"{measured.refused} of {measured.requests} failed" if measured.refused else ""
