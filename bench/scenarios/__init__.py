"""What is measured, a file each: NAME, TITLE, SHOWS, SHOWS_NOT, BASELINE, PEERS, measure(peer, seconds), check(measured)."""

from . import create, decision, list_of_50, memory, read_by_id, refused, sign_in, start, streams

ALL = {scenario.NAME: scenario for scenario in (refused, read_by_id, list_of_50, create, sign_in, streams, decision, memory, start)}
