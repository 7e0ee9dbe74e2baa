#!/usr/bin/env python3
"""Measures this library alongside its peers, and writes results.json and the page.

`.ci/peers` installs and builds what this needs. Repetitions are interleaved: each runs every contestant once, so that a
busy moment hits all of them, and the samples of one repetition can be compared with each other.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

import compiling
import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "benches/peers"
OURS = ["inline", "async", "plain"]
RUST = ["hand", *OURS, "rmcp", "rmcp-readme"]
MIB = 1_000_000


class Run:
    def __init__(self, options):
        self.quick = options.quick
        self.peers = str(pathlib.Path(options.peers).resolve())
        # How each contestant is started to serve over stdio, without the number of tools.
        self.servers = {who: [self.peers, "serve-stdio", who] for who in RUST}
        if options.python:
            self.servers["fastmcp"] = [options.python, str(HERE / "fastmcp_server.py")]
        if options.node:
            self.servers["typescript"] = ["node", options.node]
        self.samples = {}
        for who in [who for who in self.servers if who not in RUST]:
            try:
                self.json("startup", *self.servers[who], 10)
            except (subprocess.SubprocessError, json.JSONDecodeError) as error:
                print(f"{who} does not serve: going on without it ({error})", file=sys.stderr)
                del self.servers[who]

    def add(self, measure, who, x, value):
        self.samples.setdefault((measure, who, x), []).append(value)

    def json(self, *command):
        done = subprocess.run([self.peers, *map(str, command)], stdout=subprocess.PIPE, check=True, timeout=120)
        return json.loads(done.stdout)

    def interleave(self, repetitions, jobs):
        for _ in range(repetitions):
            for job in jobs:
                job()

    def in_process(self):
        """Wall and CPU time from bytes to bytes, in one process."""
        seconds = "0.04s" if self.quick else "0.15s"
        points = [("call", "add", 10), ("bad", "bad", 10), ("deep", "deep", 10), ("result", f"result:{MIB}", 10)]
        points += [("call", "add", tools) for tools in (100, 1_000, 10_000)]
        points += [("list", "list", tools) for tools in (10, 100, 1_000, 10_000)]
        points += [("argument", f"argument:{size}", size) for size in (100, 1_000, 10_000, 100_000, MIB)]

        def job(measure, case, x, who):
            tools = x if measure in ("call", "list") else 10
            took = self.json("in-process", who, case, tools, seconds)
            self.add(f"{measure} ns", who, x, took["ns"])
            self.add(f"{measure} cpu", who, x, took["cpu_ns"])

        # A `match` is compiled: its cost at 10,000 tools cannot be measured with one that has eight arms.
        jobs = [(lambda point=point, who=who: job(*point, who)) for point in points for who in RUST
                if not (who == "hand" and point[0] == "call" and point[2] > 10)]
        self.interleave(2 if self.quick else 5, jobs)

    def instructions(self):
        """Instructions from bytes to bytes. Counts are not disturbed by other programs, so two are taken at a time."""
        points = [("call", "add", tools, 200) for tools in (10, 1_000)]
        points += [("bad", "bad", 10, 200), ("deep", "deep", 10, 100)]
        points += [("parameters", f"params:{count}", count, 200) for count in (1, 8, 32)]
        if not self.quick:
            points += [("call", "add", 100, 200), ("parameters", "params:2", 2, 200), ("argument", f"argument:{MIB}", MIB, 5)]
        jobs = [(*point, who) for point in points for who in RUST
                if not (who == "hand" and point[0] == "call" and point[2] > 10)
                and not (who == "rmcp-readme" and point[0] != "call")]

        def job(measure, case, x, calls, who):
            if who == "plain":
                # How often a thread has to be woken differs from call to call.
                calls *= 5
            elif who == "rmcp-readme" and x > 10:
                # It creates its router for each call.
                calls = 10
            command = [self.peers, "in-process", who, case, str(x if measure == "call" else 10)]
            once, twice = (self.callgrind([*command, str(count)]) for count in (calls, 2 * calls))
            self.add(f"{measure} instructions", who, x, (twice - once) / calls)

        def stdio(who):
            # The whole process: every thread, and what the transport does.
            once, twice = (self.callgrind([*self.servers[who], "10"], [self.peers, "load-stdio", "64", str(count)])
                           for count in (2_000, 4_000))
            self.add("stdio instructions", who, 64, (twice - once) / 2_000)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(job, *point) for point in jobs]
            tasks += [pool.submit(stdio, who) for who in ["hand", *OURS, "rmcp"] for _ in range(1 if self.quick else 3)]
            for task in tasks:
                task.result()

    def callgrind(self, command, client=()):
        read, write = os.pipe()
        with os.fdopen(read) as log:
            valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-fd={write}"]
            process = subprocess.Popen([*client, *valgrind, *command], pass_fds=[write], stdout=subprocess.DEVNULL)
            os.close(write)
            said = log.read()
            if process.wait(300) != 0:
                raise RuntimeError(f"{' '.join(command)} failed under callgrind: {said}")
        return int(re.search(r"Collected : (\d+)", said)[1])

    def stdio(self):
        """Calls a second over pipes, and the CPU time of the server."""
        def job(in_flight, who):
            took = self.json("load-stdio", in_flight, "0.15s" if self.quick else "0.4s", *self.servers[who], 10)
            self.add("stdio rate", who, in_flight, took["rate"])
            self.add("stdio cpu", who, in_flight, took["cpu_us"])

        in_flight = (1, 8, 64) if self.quick else (1, 4, 16, 64, 256)
        self.interleave(2 if self.quick else 5,
                        [(lambda n=n, who=who: job(n, who)) for n in in_flight for who in self.servers])

    def http(self):
        """Calls a second over HTTP, and the CPU time of the server."""
        def job(connections, who):
            command = [self.peers, "serve-http", who, 10]
            took = self.json("load-http", connections, "0.2s" if self.quick else "0.5s", *command)
            self.add("http rate", who, connections, took["rate"])
            self.add("http cpu", who, connections, took["cpu_us"])

        self.interleave(2 if self.quick else 5,
                        [(lambda n=n, who=who: job(n, who)) for n in (1, 32) for who in RUST])

    def startup(self):
        """The time to the first list, and memory."""
        def job(tools, who):
            took = self.json("startup", *self.servers[who], tools)
            self.add("startup ms", who, tools, took["ms"])
            self.add("idle KiB", who, tools, took["idle_kib"])
            self.add("used KiB", who, tools, took["used_kib"])

        self.interleave(2 if self.quick else 5,
                        [(lambda n=n, who=who: job(n, who)) for n in (10, 1_000, 10_000) for who in self.servers
                         if n < 10_000 or who in RUST])
        for who in self.servers:
            many = max(x for measure, w, x in self.samples if (measure, w) == ("used KiB", who))
            pairs = zip(self.samples["used KiB", who, many], self.samples["used KiB", who, 10])
            for used, base in pairs:
                self.add("bytes per tool", who, many, (used - base) * 1024 / (many - 10))

    def compile(self):
        """CPU time of the compiler and size per tool."""
        few, many = compiling.SIZES_QUICK if self.quick else compiling.SIZES
        for _ in range(1 if self.quick else 2):
            for who in compiling.CONTESTANTS_QUICK if self.quick else compiling.CONTESTANTS:
                less, more = (compiling.build(who, count, incremental=not self.quick) for count in (few, many))
                for kind in less:
                    self.add(f"compile {kind}", who, many, (more[kind] - less[kind]) / (many - few))


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def about(run, options):
    lock = (HERE / "Cargo.lock").read_text()
    versions = {name: re.search(rf'name = "{name}"\nversion = "(.*)"', lock)[1] for name in ("rmcp", "tokio", "axum", "serde_json")}
    versions["rustc"] = output("rustc", "--version").split()[1]
    versions["valgrind"] = output("valgrind", "--version").removeprefix("valgrind-")
    if "fastmcp" in run.servers:
        versions["Python"] = output(options.python, "--version").split()[1]
        versions["fastmcp"] = output(options.python, "-c", "from importlib.metadata import version; print(version('fastmcp'))")
    if "typescript" in run.servers:
        package = pathlib.Path(options.node).parent / "node_modules/@modelcontextprotocol/server/package.json"
        versions["node"] = output("node", "--version").removeprefix("v")
        versions["@modelcontextprotocol/server"] = json.loads(package.read_text())["version"]
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    changed = output("git", "-C", str(ROOT), "status", "--porcelain", "--", "*.rs", "*.toml", "*.lock")
    return {
        "commit": output("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD") + (" with changes" if changed else ""),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "mode": "quick" if run.quick else "full",
        "machine": {
            "cpu": cpu[1] if cpu else platform.machine(),
            "cores": os.cpu_count(),
            "memory_gib": round(int(memory[1]) / 2**20) if memory else None,
            "kernel": f"{platform.system()} {platform.release()}",
        },
        "versions": versions,
        "missing": [who for who in report.NAMES if who not in run.servers],
    }


GROUPS = ["stdio", "http", "in_process", "startup", "instructions", "compile"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions: a look, not a result")
    parser.add_argument("--peers", required=True, help="the built program")
    parser.add_argument("--python", help="a Python that has FastMCP")
    parser.add_argument("--node", help="a server in a folder that has the TypeScript SDK")
    parser.add_argument(
        "--only", action="append", choices=GROUPS, help="measure only this group, print its figures and write nothing")
    parser.add_argument("--out", default=ROOT / "docs/performance", type=pathlib.Path)
    options = parser.parse_args()
    run = Run(options)
    results = about(run, options)
    groups = options.only or GROUPS
    if "compile" in groups:
        print("building the programs of many tools …", flush=True)
        compiling.prepare()
    started = time.monotonic()
    load = {"before": os.getloadavg()[0]}
    print(f"load of the machine: {load['before']:.2f} with {os.cpu_count()} cores")
    if load["before"] > 0.3 * os.cpu_count():
        print("other programs are running: wall times are noise, trust instructions and CPU times", file=sys.stderr)
    for group in groups:
        since = time.monotonic()
        print(f"{group} … ", end="", flush=True)
        getattr(run, group)()
        load[group] = os.getloadavg()[0]
        print(f"{time.monotonic() - since:.0f} s, load {load[group]:.2f}")
    results["load"] = {group: round(value, 2) for group, value in load.items()}
    results["seconds"] = round(time.monotonic() - started)
    results["points"] = [{"measure": measure, "who": who, "x": x, "samples": [float(f"{sample:.6g}") for sample in samples]}
                         for (measure, who, x), samples in sorted(run.samples.items())]
    if options.only:
        for point in results["points"]:
            print(point["measure"], point["who"], point["x"], *point["samples"])
        return
    options.out.mkdir(parents=True, exist_ok=True)
    points = ",\n".join("  " + json.dumps(point) for point in results.pop("points"))
    head = json.dumps(results, indent=1)[:-2]
    (options.out / "results.json").write_text(f'{head},\n "points": [\n{points}\n ]\n}}\n')
    report.write(options.out)
    print(f"measured in {results['seconds']} s; the page is {options.out}/README.md")


if __name__ == "__main__":
    main()
