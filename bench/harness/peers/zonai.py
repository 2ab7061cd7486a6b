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


class Zonai(Peer):
    """With `limited`, the default policy holds; else every operation is unlimited and `rows` rows are there."""

    def __init__(self, *, limited: bool, rows=0):
        super().__init__()
        self.limited, self.rows = limited, rows

    def command(self):
        self.version = version_of(ZONAI, "--version")
        source = self.folder / "lib" / "src"
        for folder in ("schemas", "rules", "rate_limit"):
            (source / folder).mkdir(parents=True)
        (self.folder / "zonai.yaml").write_text("version: 1\n")
        (source / "schemas" / "001_items.sql").write_text(SCHEMA)
        (source / "rules" / "items.yaml").write_text("view: true\nlist: true\ncreate: true\n")
        if not self.limited:
            (source / "rate_limit" / "items.yaml").write_text(NO_LIMITS)
        return [ZONAI, "serve", "--host", "127.0.0.1", "--port", self.port, self.folder]

    def prepare(self):
        client = Client(self.port)
        self.ids = []
        for start in range(0, self.rows, 500):
            objects = [{"title": f"Item {number}"} for number in range(start, min(start + 500, self.rows))]
            made = client.call("POST", "/db/many", {"table": "items", "objects": objects})
            self.ids += [row["id"] for row in made["data"]]

    def by_id(self, row: str) -> str:
        return path("/db", {"table": "items", "where": {"type": "eq", "column": "id", "value": row}})

    def list_of_50(self, offset: int) -> str:
        return path("/db/list", {"table": "items", "limit": 50, "offset": offset})

    def create(self):
        return "/db", {"table": "items", "object": {"title": "A new item"}}


def path(route: str, body) -> str:
    return f"{route}?body={quote(json.dumps(body, separators=(',', ':')))}"
