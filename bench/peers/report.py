#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py PARTS RESULTS: joins what the processes measured into RESULTS/peers.json and RESULTS/peers.txt.

Of several configurations of a peer the fastest counts; its tokavg is the one that took turns with it.
"""

import json
import pathlib
import platform
import sys

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
    form = "{:<26} {:<5} {:>6}  {:<16} {:>7} {:>7} {:>6}  {}"
    yield "Cross entropy, ns per logit; ratio: times faster than the peer, both from the same process"
    yield form.format("peer", "dtype", "vocab", "pass", "peer", "tokavg", "ratio", "configuration").rstrip()
    for r in report["results"]:
        ratio = r["ns_per_element"] / r["tokavg_ns_per_element"]
        numbers = [f"{r['ns_per_element']:.3f}", f"{r['tokavg_ns_per_element']:.3f}", f"{ratio:.2f}"]
        yield form.format(r["peer"], r["dtype"], r["vocab"], r["pass"], *numbers, r["config"])
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
