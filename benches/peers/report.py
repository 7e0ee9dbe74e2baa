#!/usr/bin/env python3
"""Turns results.json into the page and its plots: `report.py [FOLDER]`."""

import json
import pathlib
import statistics
import sys

import plot

HERE = pathlib.Path(__file__).resolve().parent
NAMES = {"hand": "hand-written", "inline": "ours, `inline`", "async": "ours, `async fn`", "plain": "ours, plain `fn`",
         "rmcp": "rmcp, router in a field", "rmcp-readme": "rmcp, as in its README", "fastmcp": "FastMCP",
         "typescript": "TypeScript SDK"}
OURS = ["inline", "async", "plain"]

# Title, measure, x, unit, factor from the samples to the unit, whether more is better.
ROWS = [
    ("**In process**",),
    ("a call of `add(a, b)`", "call instructions", 10, "instructions", 1, False),
    ("a call of `add(a, b)`, wall time", "call ns", 10, "ns", 1, False),
    ("a call of `add(a, b)`, CPU time", "call cpu", 10, "ns", 1, False),
    ("a call with bad arguments", "bad instructions", 10, "instructions", 1, False),
    ("an argument nested 24 deep and its rules", "deep instructions", 10, "instructions", 1, False),
    ("32 parameters", "parameters instructions", 32, "instructions", 1, False),
    ("an argument of 1 MB, CPU time", "argument cpu", 1_000_000, "µs", 1e-3, False),
    ("a result of 1 MB, CPU time", "result cpu", 10, "µs", 1e-3, False),
    *((f"`tools/list` of {tools:,} tools, CPU time", "list cpu", tools, "µs", 1e-3, False) for tools in (10, 100, 1_000, 10_000)),
    ("**Over stdio**",),
    ("1 in flight", "stdio rate", 1, "calls/s", 1, True),
    ("64 in flight", "stdio rate", 64, "calls/s", 1, True),
    ("1 in flight, CPU time of the server per call", "stdio cpu", 1, "µs", 1, False),
    ("64 in flight, CPU time of the server per call", "stdio cpu", 64, "µs", 1, False),
    ("64 in flight, whole process per call", "stdio instructions", 64, "instructions", 1, False),
    ("**Over HTTP**",),
    ("1 connection", "http rate", 1, "calls/s", 1, True),
    ("32 connections", "http rate", 32, "calls/s", 1, True),
    ("1 connection, CPU time of the server per call", "http cpu", 1, "µs", 1, False),
    ("32 connections, CPU time of the server per call", "http cpu", 32, "µs", 1, False),
    ("**Start and memory**",),
    ("start to first `tools/list`, 10 tools", "startup ms", 10, "ms", 1, False),
    ("start to first `tools/list`, 1,000 tools", "startup ms", 1_000, "ms", 1, False),
    ("memory when idle, 10 tools", "idle KiB", 10, "MiB", 1 / 1024, False),
    ("memory per tool, after a list", "bytes per tool", None, "bytes", 1, False),
    ("**Compiler, for each further tool**",),
    ("dev build, CPU time", "compile dev", None, "ms", 1, False),
    ("incremental dev build after one edit, CPU time", "compile incremental", None, "ms", 1, False),
    ("release build, CPU time", "compile release", None, "ms", 1, False),
    ("size of the stripped program", "compile size", None, "bytes", 1, False),
]


class Results:
    def __init__(self, folder):
        self.about = json.loads((folder / "results.json").read_text())
        self.points = {(p["measure"], p["who"], p["x"]): p["samples"] for p in self.about["points"]}

    def samples(self, measure, who, x=None):
        if x is None:
            x = max((x for m, w, x in self.points if (m, w) == (measure, who)), default=None)
        return self.points.get((measure, who, x))

    def series(self, measure, factor=1):
        """For each contestant, (x, median, min, max)."""
        found = {}
        for (m, who, x), samples in self.points.items():
            if m == measure:
                found.setdefault(who, []).append((x, *(factor * f(samples) for f in (statistics.median, min, max))))
        return {who: sorted(found[who]) for who in NAMES if who in found}

    def ratio(self, one, other):
        """The median, least and largest ratio of two figures, by repetition where both have as many."""
        one, other = self.samples(*one), self.samples(*other)
        if not one or not other:
            return None
        if len(one) == len(other):
            ratios = [a / b for a, b in zip(one, other)]
        else:
            ratios = [statistics.median(one) / statistics.median(other)]
        return statistics.median(ratios), min(ratios), max(ratios)


def number(value):
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def targets():
    """What, the ratio as two figures, and the least or the largest that it may be."""
    call, hand = ("call instructions", 10), ("call instructions", "hand", 10)

    def against(what, measure, x, ours, other, limit, more):
        pair = ((measure, ours, x), (measure, other, x))
        return what, *(pair if more else reversed(pair)), ">=", limit

    yield "In process, instructions: `inline` / hand-written", ("call instructions", "inline", 10), hand, "<=", 1.1
    yield "In process, instructions: `async fn` / hand-written", ("call instructions", "async", 10), hand, "<=", 1.5
    yield ("stdio, 64 in flight, instructions of the whole process: plain `fn` / hand-written in process",
           ("stdio instructions", "plain", 64), hand, "<=", 2)
    for n in (1, 64):
        yield against(f"stdio, {n} in flight, calls/s: `async fn` / hand-written", "stdio rate", n, "async", "hand", 0.5, True)
    for n in (1, 32):
        yield against(f"HTTP, {n} connection{'s' * (n > 1)}, calls/s: `async fn` / bare axum handler", "http rate", n, "async", "hand", 0.8, True)
    for what, measure, x, more in (("in process, instructions", *call, False), ("in process, wall time", "call ns", 10, False),
                                   ("stdio, 1 in flight, calls/s", "stdio rate", 1, True),
                                   ("stdio, 64 in flight, calls/s", "stdio rate", 64, True),
                                   ("HTTP, 1 connection, calls/s", "http rate", 1, True),
                                   ("HTTP, 32 connections, calls/s", "http rate", 32, True),
                                   ("start to first list, 1,000 tools", "startup ms", 1_000, False),
                                   ("list of 1,000 tools, CPU time", "list cpu", 1_000, False)):
        yield against(f"Plain `fn` against rmcp: {what}", measure, x, "plain", "rmcp", 1.5, more)
    for who in ("inline", "async"):
        yield against(f"stdio, 64 in flight, calls/s: {NAMES[who][6:]} / rmcp", "stdio rate", 64, who, "rmcp", 5, True)
    yield against("HTTP, 32 connections, calls/s: `inline` / rmcp", "http rate", 32, "inline", "rmcp", 2, True)
    yield against("HTTP, 32 connections, calls/s: `async fn` / rmcp", "http rate", 32, "async", "rmcp", 1.8, True)
    yield against("List of 1,000 tools, CPU time: rmcp / ours", "list cpu", 1_000, "async", "rmcp", 50, False)
    for kind, what in (("dev", "dev build"), ("incremental", "incremental build"), ("release", "release build"), ("size", "stripped size")):
        for who in OURS:
            # Like with like.
            other, name = ("rmcp-readme", "rmcp's `async fn`") if who == "async" else ("rmcp", "rmcp's `fn`")
            yield (f"Per tool, {what}: {NAMES[who][6:]} / {name}", (f"compile {kind}", who, None), (f"compile {kind}", other, None), "<=", 0.25)
    for who in OURS:
        name = NAMES[who][6:]
        yield (f"Growth, {name}: instructions of a call with 1,000 tools / with 10",
               ("call instructions", who, 1_000), ("call instructions", who, 10), "<=", 1.1)
        yield (f"Growth, {name}: instructions of a call with 32 parameters / with 8",
               ("parameters instructions", who, 32), ("parameters instructions", who, 8), "<=", 4)
        # Linear is 10; the rest is for caches and noise.
        yield (f"Growth, {name}: CPU time of a call with 1 MB / with 100 kB",
               ("argument cpu", who, 1_000_000), ("argument cpu", who, 100_000), "<=", 12)
        yield (f"Growth, {name}: CPU time of a list of 10,000 tools / of 1,000",
               ("list cpu", who, 10_000), ("list cpu", who, 1_000), "<=", 12)


def targets_table(results):
    lines = ["| ratio | better | measured | spread | target | met |", "|---|---|---|---|---|---|"]
    met = missed = 0
    for what, one, other, sign, limit in targets():
        ratio = results.ratio(one, other)
        if ratio is None:
            lines.append(f"| {what} | | not measured | | | |")
            continue
        median, least, largest = ratio
        good = median <= limit if sign == "<=" else median >= limit
        met, missed = met + good, missed + (not good)
        spread = f"{number(least)}–{number(largest)}" if least != largest else ""
        unsure = ", unsure" if least < limit < largest else ""
        lines.append(f"| {what} | {'smaller' if sign == '<=' else 'bigger'} | {number(median)} | {spread} "
                     f"| {'≤' if sign == '<=' else '≥'} {limit} | {'yes' if good else '**no**'}{unsure} |")
    return lines, met, missed


def advantages(results):
    """For each row and contestant, how many times as good as rmcp."""
    for title, *row in ROWS:
        if not row:
            yield title, None, None
            continue
        measure, x, unit, _, more = row
        found = {}
        for who in NAMES:
            pair = (measure, who, x), (measure, "rmcp", x)
            found[who] = results.ratio(*(pair if more else reversed(pair)))
        yield title if "time" in title else f"{title}, {unit}", more, found


def ratios_table(results):
    lines = ["| | the figure: better | " + " | ".join(NAMES.values()) + " |", "|---|---|" + "---|" * len(NAMES)]
    for title, more, found in advantages(results):
        if found is None:
            lines.append(f"| {title} |" + " |" * (len(NAMES) + 1))
            continue
        cells = " | ".join(number(found[who][0]) if found[who] else "" for who in NAMES)
        lines.append(f"| {title} | {'bigger' if more else 'smaller'} | {cells} |")
    return lines


def losses(results):
    """Every row in which a kind of ours is behind rmcp, or far behind hand-written code."""
    lines = ["| | compared with | " + " | ".join(NAMES[who][6:] for who in OURS) + " |", "|---|---|---|---|---|"]
    for title, more, found in advantages(results):
        if found is None:
            group = title.strip("*")
            continue
        for other, limit in (("rmcp", 1 / 0.95), ("hand", 2)):
            if not found[other]:
                continue
            times = {who: found[other][0] / found[who][0] for who in OURS if found[who]}
            if max(times.values(), default=0) > limit:
                cells = " | ".join(number(times[who]) if times.get(who, 0) > limit else "" for who in OURS)
                lines.append(f"| {group}: {title} | {NAMES[other].split(',')[0]} | {cells} |")
    return lines if len(lines) > 2 else ["In no row of this run."]


def figures_table(results):
    lines = ["| | unit | better | " + " | ".join(NAMES.values()) + " |", "|---|---|---|" + "---|" * len(NAMES)]
    for title, *row in ROWS:
        if not row:
            lines.append(f"| {title} |" + " |" * (len(NAMES) + 2))
            continue
        measure, x, unit, factor, more = row
        cells = []
        for who in NAMES:
            samples = [factor * sample for sample in results.samples(measure, who, x) or []]
            cell = number(statistics.median(samples)) if samples else ""
            if len(samples) > 1:
                cell += f" ({number(min(samples))}–{number(max(samples))})"
            cells.append(cell)
        lines.append(f"| {title} | {unit} | {'bigger' if more else 'smaller'} | {' | '.join(cells)} |")
    return lines


PLOTS = [
    ("call-by-tools", "Cost of a call against the number of tools", "call instructions", 1, "tools", "instructions per call"),
    ("list-by-tools", "Cost of tools/list against the number of tools", "list cpu", 1e-3, "tools", "µs of CPU time per list"),
    ("call-by-parameters", "Cost of a call against the number of parameters", "parameters instructions", 1, "parameters", "instructions per call"),
    ("call-by-argument-size", "Cost of a call against the size of its argument", "argument cpu", 1e-3, "bytes", "µs of CPU time per call"),
    ("rate-by-in-flight", "Calls a second over stdio against calls in flight", "stdio rate", 1, "calls in flight", "calls per second"),
    ("startup-by-tools", "Start to the first tools/list against the number of tools", "startup ms", 1, "tools", "ms"),
]


def page(results):
    about = results.about
    machine = about["machine"]
    targets, met, missed = targets_table(results)
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    load = ", ".join(f"{value} {'before' if group == 'before' else 'after ' + group.replace('_', ' ')}" for group, value in about["load"].items())
    yield from ("# Performance alongside the peers", "",
                "This page is generated; [how to run it again](#how-to-run-it-again) is below. "
                "[results.json](results.json) has every sample.", "",
                f"Commit {about['commit']}, {about['date']}, {about['mode']} run of {about['seconds']} s.",
                f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['kernel']}; {versions}.",
                f"Load of the machine, one-minute average: {load}. The benchmarks themselves are part of it.", "")
    if about["mode"] == "quick":
        yield from ("> A quick run has few and short repetitions: wall times and CPU times in it are a look, not a result.", "")
    for who in about["missing"]:
        yield from (f"> {NAMES[who]} could not be installed or started, and is not measured.", "")
    yield from ("## Targets", "", f"{met} met, {missed} missed. The spread is that of the ratio over the repetitions; *unsure* means that it crosses the target.", "", *targets, "")
    notes = HERE / "notes.md"
    if notes.exists():
        yield from (notes.read_text().strip(), "")
    yield from ("## Where we lose", "",
                "How many times as good the other one is: the same rate or cost is 1. Rows in which rmcp is ahead by more than",
                "5 %, or hand-written code by more than a factor of 2. Not every difference is more than noise: see the spread.", "",
                *losses(results), "",
                "## Ratios", "",
                "How many times as good as rmcp with its router in a field, which is its fastest form: bigger is better in every",
                "row, 2 is twice the rate or half the cost. The second column says which way the figure itself is better.", "",
                *ratios_table(results), "", "## Plots", "")
    for name, title, *_ in PLOTS:
        yield from (f"![{title}]({name}.svg)", "")
    yield from ("## Figures", "", "Medians, and the least and the largest sample where there are several.", "",
                *figures_table(results), "", (HERE / "method.md").read_text().strip())


def write(folder):
    results = Results(folder)
    for name, title, measure, factor, x, y in PLOTS:
        series = {NAMES[who].replace("`", ""): (who, points) for who, points in results.series(measure, factor).items()}
        (folder / f"{name}.svg").write_text(plot.lines(title, x, y, series))
    (folder / "README.md").write_text("\n".join(page(results)) + "\n")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[1] / "docs/performance")
