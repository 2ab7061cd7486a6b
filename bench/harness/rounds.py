"""One scenario: every peer in turn, again and again, so that what drifts drifts for all."""

import contextlib
import statistics
from dataclasses import dataclass, field


@dataclass
class Result:
    name: str
    title: str
    shows: str
    shows_not: str
    baseline: str
    versions: dict = field(default_factory=dict)
    cpu_us: dict = field(default_factory=dict)
    ratios: dict = field(default_factory=dict)
    faults: list = field(default_factory=list)

    def median(self, peer: str) -> float:
        return statistics.median(self.cpu_us[peer])


def run(scenario, wanted, rounds: int, seconds: int) -> Result:
    result = Result(scenario.NAME, scenario.TITLE, scenario.SHOWS, scenario.SHOWS_NOT, scenario.BASELINE)
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
            measure(scenario, ready, seconds, number, result)
    for name, figures in result.cpu_us.items():
        base = result.cpu_us.get(scenario.BASELINE)
        result.ratios[name] = [ours / theirs for ours, theirs in zip(figures, base)] if base else []
    return result


def measure(scenario, ready, seconds, number, result: Result):
    for name, peer in ready.items():
        if number == 0:
            scenario.measure(peer, 1)  # warms up, counts for nothing
        measured = scenario.measure(peer, seconds)
        fault = scenario.check(measured) or (measured.errors and f"socket errors: {measured.errors}")
        if fault:
            result.faults.append(f"{name}, round {number + 1}: {fault}")
        result.cpu_us.setdefault(name, []).append(measured.cpu_us)
        note = f"  {fault}" if fault else ""
        print(f"{scenario.NAME} {number + 1}: {name:22} {measured.cpu_us:7.2f} µs/request"
              f" {measured.per_core:9.0f}/s/core {measured.requests:8} requests{note}", flush=True)
