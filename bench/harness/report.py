"""From figures to RESULTS.md, results.json and plots."""

import datetime
import json
import os
import platform
import statistics
import subprocess
from dataclasses import asdict

from . import svg
from .install import BENCH, ROOT

HEAD = """# Results

Written by `bench/run`; do not edit. Where nothing else is said a figure is the server's own processor time (user and
system, from `/proc`) for one request, so the speed of the client does not matter. All peers of a table ran in one run, in turns: compare within a table,
never with another machine's. The ratio is the median of each round's own ratio; spread is least to most.
"""


def show(results):
    for result in results:
        print("\n" + table(result))
        for fault in result.faults:
            print(f"fault: {fault}")


def write(results):
    plots = BENCH / "plots"
    plots.mkdir(exist_ok=True)
    text = [HEAD, about()]
    for result in results:
        text += [f"## {result.title}\n", f"{result.shows}\n", table(result)]
        if result.figures:
            plot = plots / f"{result.name}.svg"
            plot.write_text(svg.bars(result.title, result.unit, rows(result), "zonai"))
            text.append(f"![{result.title}](plots/{plot.name})\n")
        text.append(f"What it does not show: {result.shows_not}\n")
        text += [f"Fault: {fault}\n" for fault in result.faults]
    (BENCH / "RESULTS.md").write_text("\n".join(text))
    figures = {"date": today(), "machine": machine(), "commit": commit(), "scenarios": [asdict(result) for result in results]}
    (BENCH / "results.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def rows(result):
    """Name, median, least, most; cheapest first."""
    listed = [(name, statistics.median(all_), min(all_), max(all_)) for name, all_ in result.figures.items()]
    return sorted(listed, key=lambda row: row[1])


def table(result) -> str:
    base = result.baseline
    lines = [f"| server | version | {result.unit} | spread | × {base} | spread |", "|---|---|---|---|---|---|"]
    for name, median, low, high in rows(result):
        ratios = result.ratios.get(name) or [float("nan")]
        lines.append(
            f"| {name} | {result.versions[name]} | {median:.1f} | {low:.1f}–{high:.1f} | {statistics.median(ratios):.2f}"
            f" | {min(ratios):.2f}–{max(ratios):.2f} |"
        )
    return "\n".join(lines) + "\n"


def about() -> str:
    return (f"{today()}, commit {commit()}, {machine()}. Server on one core with one worker, `wrk -t1` on another.\n")


def today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def machine() -> str:
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores ({model or platform.machine()}), Linux {platform.release().split('-')[0]}"


def commit() -> str:
    asked = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"
