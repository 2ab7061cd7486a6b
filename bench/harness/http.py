"""JSON over one kept connection, to set a server up."""

import http.client
import json


class Client:
    def __init__(self, port: int):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.headers = {"content-type": "application/json"}

    def call(self, method: str, path: str, body=None):
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, self.headers)
        answer = self.connection.getresponse()
        read = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {read[:500].decode(errors='replace')}")
        return json.loads(read) if read else None
