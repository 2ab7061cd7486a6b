"""Zonai itself: a project with one table, the release build."""

import json
from urllib.parse import quote

from ..http import Client
from ..install import ZONAI
from .base import Peer, version_of

SCHEMA = """CREATE TABLE items (
  id TEXT PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX items_by_created ON items (created_at);
"""
NO_LIMITS = "table: items\nlimits: {get: none, list: none, count: none, create: none, update: none, delete: none}\n"
USERS = """CREATE TABLE users (
  id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL
) STRICT;
"""
NO_AUTH_LIMITS = "table: users\nauth: {signIn: none, signUp: none, authenticate: none, failedSignIn: none}\n"
# A server that believes a proxy makes no secrets of its own.
SECRETS = {"JWT_SECRET": "for the bench only 0123456789abcdef", "PASSWORD_SECRET": "for the bench only fedcba9876543210"}


class Zonai(Peer):
    """With `limited`, the default policy holds; else every operation is unlimited and `rows` rows are there.

    `elsewhere`: a second table; and the rows lie in groups of 20, by `done`.
    `forwarded`: `X-Forwarded-For` from loopback is believed, so that one machine can play many clients.
    """

    environment = SECRETS

    def __init__(self, *, limited: bool, rows=0, forwarded=False, accounts=False, elsewhere=False):
        super().__init__()
        self.limited, self.rows, self.forwarded, self.accounts = limited, rows, forwarded, accounts
        self.elsewhere = elsewhere

    def command(self):
        self.version = version_of(ZONAI, "--version")
        source = self.folder / "lib" / "src"
        for folder in ("schemas", "rules", "rate_limit"):
            (source / folder).mkdir(parents=True)
        settings = "version: 1\napp:\n  appName: Bench\n"
        if self.accounts:
            settings += "  tables: {users: {auth: [password]}}\n"
            (source / "schemas" / "002_users.sql").write_text(USERS)
            (source / "rules" / "users.yaml").write_text("signUp: true\nsignIn: true\n")
            (source / "rate_limit" / "users.yaml").write_text(NO_AUTH_LIMITS)
        if self.forwarded:
            settings += "  trustedProxy: {headers: [X-Forwarded-For], proxies: [127.0.0.0/8]}\n"
            # Windows that stay open for as long as a scenario takes.
            settings += "rateLimit: {shared: {unknown: 100/1h}}\n"
        (self.folder / "zonai.yaml").write_text(settings)
        (source / "schemas" / "001_items.sql").write_text(SCHEMA)
        (source / "rules" / "items.yaml").write_text("view: true\nlist: true\ncreate: true\nupdate: true\n")
        if self.elsewhere:
            (source / "schemas" / "003_others.sql").write_text(SCHEMA.replace("items", "others"))
            (source / "rules" / "others.yaml").write_text("create: true\n")
            (source / "rate_limit" / "others.yaml").write_text("table: others\nlimits: {create: none}\n")
        if not self.limited:
            (source / "rate_limit" / "items.yaml").write_text(NO_LIMITS)
        return [ZONAI, "serve", "--host", "127.0.0.1", "--port", self.port, self.folder]

    def prepare(self):
        client = Client(self.port)
        self.ids, self.query_of = [], {}
        for start in range(0, self.rows, 500):
            objects = [{"title": f"Item {number}", "done": number % 20 if self.elsewhere else 0} for number in range(start, min(start + 500, self.rows))]
            made = client.call("POST", "/db/many", {"table": "items", "objects": objects})
            self.ids += [row["id"] for row in made["data"]]
            self.query_of |= {row["id"]: row["done"] for row in made["data"]}

    def by_id(self, row: str) -> str:
        return path("/db", {"table": "items", "where": {"type": "eq", "column": "id", "value": row}})

    def list_of_50(self, offset: int) -> str:
        return path("/db/list", {"table": "items", "limit": 50, "offset": offset})

    def sign_up(self, email: str, password: str):
        Client(self.port).call("POST", "/auth/sign-up", {"email": email, "password": password})

    def sign_in(self, email: str, password: str):
        return "/auth/sign-in", {"email": email, "password": password}

    def create(self):
        return "/db", {"table": "items", "object": {"title": "A new item"}}


def path(route: str, body) -> str:
    return f"{route}?body={quote(json.dumps(body, separators=(',', ':')))}"
