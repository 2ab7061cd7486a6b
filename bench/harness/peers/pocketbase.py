"""PocketBase: one collection of the same columns, open to all, set up through its own command line and API."""

import os
import subprocess

from ..http import Client
from ..install import pocketbase
from .base import Peer, version_of

ADMIN, PASSWORD = "admin@example.com", "a long enough password"
COLLECTION = {
    "name": "items", "type": "base",
    "listRule": "", "viewRule": "", "createRule": "", "updateRule": None, "deleteRule": None,
    "fields": [
        {"name": "title", "type": "text", "required": True},
        {"name": "done", "type": "bool"},
        {"name": "created", "type": "autodate", "onCreate": True},
        {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True},
    ],
    "indexes": ["CREATE INDEX items_by_created ON items (created)"],
}
LIMITS = {"rateLimits": {"enabled": True, "rules": [{"label": "/api/", "maxRequests": 100, "duration": 60, "audience": ""}]}}


class PocketBase(Peer):
    """With `limited`, 100 requests a minute; else none are refused and `rows` rows are there."""

    def __init__(self, *, limited: bool, rows=0):
        super().__init__()
        self.limited, self.rows = limited, rows

    def command(self):
        self.version = version_of(pocketbase(), "--version")
        self.data = self.folder / "pb_data"
        subprocess.run(
            [pocketbase(), "superuser", "upsert", ADMIN, PASSWORD, "--dir", self.data],
            check=True, capture_output=True, env=os.environ,
        )
        return [pocketbase(), "serve", "--http", f"127.0.0.1:{self.port}", "--dir", self.data]

    def prepare(self):
        self.client = client = Client(self.port)
        login = {"identity": ADMIN, "password": PASSWORD}
        token = client.call("POST", "/api/collections/_superusers/auth-with-password", login)["token"]
        client.headers["authorization"] = token
        client.call("POST", "/api/collections", COLLECTION)
        rows = ({"title": f"Item {number}"} for number in range(self.rows))
        self.ids = [client.call("POST", "/api/collections/items/records", row)["id"] for row in rows]
        # By default it writes a log of requests to a database. Nobody else here does, so it is off.
        client.call("PATCH", "/api/settings", {"logs": {"maxDays": 0}, **(LIMITS if self.limited else {})})

    def by_id(self, row: str) -> str:
        return f"/api/collections/items/records/{row}"

    def list_of_50(self, offset: int) -> str:
        return f"/api/collections/items/records?perPage=50&page={offset // 50 + 1}&sort=-created"

    def sign_up(self, email: str, password: str):
        user = {"email": email, "password": password, "passwordConfirm": password, "verified": True}
        self.client.call("POST", "/api/collections/users/records", user)

    def sign_in(self, email: str, password: str):
        return "/api/collections/users/auth-with-password", {"identity": email, "password": password}

    def create(self):
        return "/api/collections/items/records", {"title": "A new item"}
