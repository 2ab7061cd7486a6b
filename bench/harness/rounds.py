"""One scenario: every peer in turn, again and again, so that what drifts drifts for all."""

import contextlib
from dataclasses import dataclass, field

from .load import CPU


@dataclass
class Result:
    name: str
    title: str
    shows: str
    shows_not: str
    baseline: str
    unit: str
    versions: dict = field(default_factory=dict)
    figures: dict = field(default_factory=dict)
    ratios: dict = field(default_factory=dict)
    faults: list = field(default_factory=list)


def run(scenario, wanted, rounds: int, seconds: int) -> Result:
    result = Result(scenario.NAME, scenario.TITLE, scenario.SHOWS, scenario.SHOWS_NOT, scenario.BASELINE, getattr(scenario, "UNIT", CPU))
    with contextlib.ExitStack() as stack:
        ready = {}
        for name, start in scenario.PEERS.items():
            if wanted and name not in wanted:
                continue
            try:
                ready[name] = stack.enter_context(start())
                result.versions[name] = ready[name].version
            except Exception as error:  # one peer that does not start must not hide the others
                result.faults.append(f"{name}: {error}")
                print(f"{scenario.NAME}: {name} did not start: {error}")
        for number in range(rounds):
            for name, peer in ready.items():
                try:
                    measure(scenario, name, peer, seconds, number, result)
                except Exception as error:
                    # What is measured in a program of its own has no server with a log.
                    log = f"\n{peer.server.log_text()}" if hasattr(peer, "server") else ""
                    result.faults.append(f"{name}, round {number + 1}: {error}{log}")
                    print(f"{scenario.NAME} {number + 1}: {name} failed: {error}", flush=True)
    for name, figures in result.figures.items():
        base = result.figures.get(scenario.BASELINE)
        result.ratios[name] = [ours / theirs for ours, theirs in zip(figures, base)] if base else []
    return result


def measure(scenario, name, peer, seconds, number, result: Result):
    if number == 0 and getattr(scenario, "WARM_UP", True):
        scenario.measure(peer, 1)  # warms up, counts for nothing
    measured = scenario.measure(peer, seconds)
    silent = getattr(measured, "requests", 1) == 0 and "no answer within the time"
    fault = silent or scenario.check(measured) or (measured.errors and f"errors: {measured.errors}")
    if fault:
        result.faults.append(f"{name}, round {number + 1}: {fault}")
    result.figures.setdefault(name, []).append(measured.figure)
    note = f"  {fault}" if fault else ""
    print(f"{scenario.NAME} {number + 1}: {name:20} {measured.figure:10.2f} ({measured.note}){note}", flush=True)
