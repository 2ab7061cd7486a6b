"""JSON over one kept connection, to set a server up."""

import http.client
import json
import socket
import time
from urllib.parse import quote


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


def get_raw(port: int, target: str, times: int, within: float, alternating=False):
    """One GET so many times over one connection, as soon as the port answers. Returns the statuses and how often each came.
    `alternating`: no request has the bytes of the one before."""
    hosts = ("bench", "other") if alternating else ("bench", "bench")
    requests = [f"GET {quote(target, safe='/?=')} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode() for host in hosts]
    seen = {}
    with connect(port, within) as connection:
        for number in range(times):
            connection.sendall(requests[number % 2])
            answer, end, body = b"", b"", b""
            while not end or len(body) < length(answer):
                read = connection.recv(1 << 16)
                if not read:
                    raise RuntimeError("the server closed the connection")
                answer += read
                _, end, body = answer.partition(b"\r\n\r\n")
            status = answer[9:12].decode()
            seen[status] = seen.get(status, 0) + 1
    return seen


def length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)


def connect(port: int, within: float) -> socket.socket:
    until = time.monotonic() + within
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
