"""Many clients from one machine: pipelined requests, each with an address of its own in `X-Forwarded-For`."""

import socket

BATCH = 200


def play(port: int, clients: int, path="/nothing"):
    """One request from each of so many clients. Returns the statuses and how often each came."""
    seen = {}
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        for start in range(0, clients, BATCH):
            numbers = range(start, min(start + BATCH, clients))
            connection.sendall(b"".join(request(path, number) for number in numbers))
            waiting = len(numbers)
            rest = b""
            while waiting:
                read = connection.recv(1 << 18)
                if not read:
                    raise RuntimeError("the server closed the connection")
                heads = (rest + read).split(b"HTTP/1.1 ")
                # The last bytes may hold half a status line; they are looked at again with what follows.
                whole = [head for head in heads[1:] if len(head) >= 3]
                for head in whole:
                    seen[head[:3].decode()] = seen.get(head[:3].decode(), 0) + 1
                waiting -= len(whole)
                rest = tail(rest + read)
    return seen


def request(path: str, number: int) -> bytes:
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return f"GET {path} HTTP/1.1\r\nhost: bench\r\nx-forwarded-for: {address}\r\n\r\n".encode()


def tail(text: bytes) -> bytes:
    """What could be the beginning of a status line that is not whole."""
    at = text.rfind(b"H", max(len(text) - 11, 0))
    return text[at:] if at >= 0 and b"HTTP/1.1 "[: len(text) - at] == text[at : at + 9] and len(text) - at < 12 else b""
