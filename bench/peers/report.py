#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py PARTS RESULTS: joins what the processes measured into RESULTS/peers.json and RESULTS/peers.txt.

Of several configurations of a peer the fastest counts; its tokavg is the one that took turns with it.
"""

import json
import pathlib
import platform
import sys

# Times faster than the peer that tokavg aims to be.
GOALS = {
    ("torch-best", "f32", "forward"): 3.0,
    ("torch-best", "f32", "forward+backward"): 4.5,
    ("torch-best", "bf16", "forward"): 2.5,
    ("torch-best", "bf16", "forward+backward"): 3.0,
    ("torch-default", "f32", "forward"): 7.0,
    ("torch-default", "f32", "forward+backward"): 7.0,
    ("torch-default", "bf16", "forward"): 7.0,
    ("torch-default", "bf16", "forward+backward"): 7.0,
}
ORDER = [
    "torch-best",
    "torch-eager",
    "torch-formula",
    "torch-default",
    "torch-default-float",
    "torch-default-all-threads",
    "onednn",
    "plain-fast",
    "plain",
]


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def joined(parts):
    results, notes, versions = {}, [], {"processor": processor()}
    for path in sorted(parts.glob("*.json")):
        part = json.loads(path.read_text(encoding="utf-8"))
        notes += part["notes"]
        versions.update(part["versions"])
        for r in part["results"]:
            key = r["peer"], r["dtype"], r["vocab"], r["pass"]
            if key not in results or r["ns_per_element"] < results[key]["ns_per_element"]:
                results[key] = r
    if (parts / "notes.txt").exists():
        notes += (parts / "notes.txt").read_text(encoding="utf-8").splitlines()
    ordered = sorted(results.values(), key=lambda r: ORDER.index(r["peer"]))
    return {"results": ordered, "notes": sorted(set(notes)), "versions": versions}


def table(report):
    form = "{:<26} {:<5} {:>6}  {:<16} {:>7} {:>7} {:>6}  {:<11} {}"
    yield "Cross entropy, ns per logit; ratio: times faster than the peer, both from the same process"
    yield form.format("peer", "dtype", "vocab", "pass", "peer", "tokavg", "ratio", "goal", "configuration").rstrip()
    for r in report["results"]:
        ratio = r["ns_per_element"] / r["tokavg_ns_per_element"]
        goal = GOALS.get((r["peer"], r["dtype"], r["pass"]))
        verdict = "" if goal is None else f"{goal:.1f} {'met' if ratio >= goal else 'missed'}"
        numbers = [f"{r['ns_per_element']:.3f}", f"{r['tokavg_ns_per_element']:.3f}", f"{ratio:.2f}"]
        yield form.format(r["peer"], r["dtype"], r["vocab"], r["pass"], *numbers, verdict, r["config"])
    yield from (f"note: {note}" for note in report["notes"])
    yield "versions: " + ", ".join(f"{name} {version}" for name, version in report["versions"].items())


def main():
    parts, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    report = joined(parts)
    (results / "peers.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    text = "\n".join(table(report)) + "\n"
    (results / "peers.txt").write_text(text, encoding="utf-8")
    print(text, end="")
    print(f"peers: {results}/peers.json")


main()
