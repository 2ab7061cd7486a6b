"""A thousand open live queries."""

import json
import selectors
import socket
import time

from harness.load import Figure
from harness.peers.zonai import Zonai, path
from harness.process import slope

NAME = "streams"
TITLE = "1,000 live queries"
UNIT = "ms from the answer to the last write until every stream has its state"
SHOWS = (
    "20 lists of 20 rows of one table, each open on 50 streams; 100 rows a second change, in turn over the lists. "
    "Then 100 writes to another table, of which no stream may hear."
)
SHOWS_NOT = "Networks, slow readers, and peers: what others send on a change is the changed row, not the result of a query."
BASELINE = "zonai"
PEERS = {"zonai": lambda: Zonai(limited=False, rows=QUERIES * ROWS, elsewhere=True)}
QUERIES, ROWS, STREAMS = 20, 20, 1_000
WRITES_A_SECOND = 100
# What the server keeps per stream has settled by then; growth is measured after it.
SETTLE_SECONDS = 10
AT_MOST_MS = 250


class Stream:
    """The end of what came is kept: a last message is in it."""

    def __init__(self, port: int, number: int):
        self.query = number % QUERIES
        self.messages, self.tail, self.seen = 0, b"", None
        # A client may have a hundred streams.
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(f"127.0.5.{number % 40 + 1}", 0))
        body = {"table": "items", "where": {"done": {"eq": self.query}}, "limit": ROWS}
        self.socket.sendall(f"GET {path('/db/stream/list', body)} HTTP/1.1\r\nhost: bench\r\n\r\n".encode())
        self.socket.setblocking(False)

    def read(self):
        read = self.socket.recv(1 << 18)
        if not read:
            raise RuntimeError(f"a stream ended: {self.tail[-300:]}")
        # Every message is one line of JSON that begins like this.
        self.messages += (self.tail[-7:] + read).count(b'{"data":')
        self.tail = (self.tail + read)[-16_384:]


class Crowd:
    def __init__(self, peer):
        self.peer = peer
        self.selector = selectors.DefaultSelector()
        self.streams = [Stream(peer.port, number) for number in range(STREAMS)]
        for stream in self.streams:
            self.selector.register(stream.socket, selectors.EVENT_READ, stream.read)
        self.writer = socket.create_connection(("127.0.0.1", peer.port), timeout=30)
        self.writer.setblocking(False)
        self.selector.register(self.writer, selectors.EVENT_READ, self.answered)
        self.waiting, self.answer = False, b""

    def close(self):
        for stream in self.streams:
            stream.socket.close()
        self.writer.close()
        self.selector.close()

    def answered(self):
        self.answer += self.writer.recv(1 << 16)
        head, end, body = self.answer.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"a write failed: {self.answer[:500]}")
            self.waiting, self.answer = False, b""

    def turn(self, until: float):
        for key, _ in self.selector.select(max(until - time.monotonic(), 0)):
            key.data()

    def write(self, method: str, body):
        text = json.dumps(body).encode()
        head = f"{method} /db HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
        self.writer.sendall(head.encode() + text)
        self.waiting = True

    def writes(self, seconds: float, body_of, method: str, each_second=lambda: None):
        """`body_of` the number of each write, at the pace, each after the answer to the one before."""
        begun = time.monotonic()
        second = 0
        for number in range(int(seconds * WRITES_A_SECOND)):
            due = begun + number / WRITES_A_SECOND
            while self.waiting or time.monotonic() < due:
                self.turn(due if not self.waiting else time.monotonic() + 1)
            self.write(method, body_of(number))
            if time.monotonic() - begun >= second + 1:
                second += 1
                each_second()
        while self.waiting:
            self.turn(time.monotonic() + 1)

    def until(self, done, seconds: float) -> float:
        """Reads until `done`; milliseconds it took."""
        begun = time.monotonic()
        while not done() and time.monotonic() < begun + seconds:
            self.turn(begun + seconds)
        return (time.monotonic() - begun) * 1e3

    def messages(self) -> int:
        return sum(stream.messages for stream in self.streams)


def measure(peer, seconds):
    crowd = Crowd(peer)
    try:
        return watch(crowd, peer, seconds)
    finally:
        crowd.close()


def watch(crowd, peer, seconds):
    faults = []
    crowd.until(lambda: all(stream.messages for stream in crowd.streams), 60)
    last = {}

    def change(number):
        row = peer.ids[number % len(peer.ids)]
        title = f"state {time.monotonic_ns()}"
        last[row] = title
        return {"table": "items", "where": {"type": "eq", "column": "id", "value": row}, "updates": [{"column": "title", "value": title}]}

    memory = []
    before, cpu = crowd.messages(), peer.server.cpu_seconds()
    crowd.writes(seconds, change, "PATCH", lambda: memory.append(peer.server.memory_kib()))
    memory.append(peer.server.memory_kib())
    newest = {peer.query_of[row]: title.encode() for row, title in last.items()}
    late = crowd.until(lambda: all(newest[s.query] in s.tail for s in crowd.streams if s.query in newest), 10)
    cpu, sent = peer.server.cpu_seconds() - cpu, crowd.messages() - before
    if late > AT_MOST_MS:
        faults.append(f"the last state came after {late:.0f} ms")

    # What is under way has come by then; from here on silence is expected.
    crowd.until(lambda: False, 0.5)
    before = crowd.messages()
    crowd.writes(1, lambda number: {"table": "others", "object": {"title": f"Other {number}"}}, "POST")
    crowd.until(lambda: False, 0.5)
    if crowd.messages() != before:
        faults.append(f"{crowd.messages() - before} messages after writes to another table")
    note = f"{sent} messages, {cpu * 1e6 / max(sent, 1):.1f} µs of processor time each, {memory[-1] / 1024:.1f} MiB"
    if len(memory) > 2 * SETTLE_SECONDS:
        note += f", {slope(memory[SETTLE_SECONDS:]) * 60:+.1f} KiB a minute"
    return Figure(late, note, "; ".join(faults))


def check(_):
    return ""
