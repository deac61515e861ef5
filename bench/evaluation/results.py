# SPDX-License-Identifier: Apache-2.0
"""Merges the files of a run into one, and answers questions about it."""
import datetime
import json
import statistics

from . import machine


# Where more than the calling thread works, or where it may sleep, the clock on the wall counts; else the thread's own time,
# in which other processes take no part.
WALL_CLOCK_GROUPS = ("threads", "microbatches")
PARTS = ("kernels-", "growth-", "reduction-", "peers.json")
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


class NoData(Exception):
    """Why a number is not there."""


def load(path):
    return json.loads(path.read_text())


def _name(entry):
    """GROUP/WHAT/TYPE/SIZE, without what google-benchmark appends."""
    return "/".join(entry["run_name"].split("/")[:4])


def _benchmarks(path):
    """The median and the quartiles of the repetitions of each benchmark of a file, in ns."""
    times, more = {}, {}
    for entry in load(path)["benchmarks"]:
        if entry["run_type"] != "iteration":
            continue
        name = _name(entry)
        clock = "real_time" if name.split("/")[0] in WALL_CLOCK_GROUPS else "cpu_time"
        times.setdefault(name, []).append(entry[clock] * NANOSECONDS[entry["time_unit"]])
        more[name] = {key: entry[key] for key in ("bytes", "elements", "worst") if key in entry}
    merged = {}
    for name, values in times.items():
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        merged[name] = {"ns": middle, "ns_quartiles": [low, high], "repetitions": len(values), **more[name]}
    return merged


def merge(folder, build, root):
    """All raw files of a results folder."""
    merged = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "quick": False,
        "load": 0.0,  # the highest when a part began
        "machine": machine.facts(),
        "software": machine.software(build, root),
        "kernels": {},
        "growth": {},
        "reduction": {},
        "peers": None,
        "older": [],
    }
    # Parts of earlier runs stay in the folder until they are measured again.
    measured = {path: path.stat().st_mtime for path in folder.glob("*.json") if path.name.startswith(PARTS)}
    merged["older"] = sorted({path.stem.split("-")[0] for path, when in measured.items()
                              if when < max(measured.values()) - 3600})
    for path in sorted(folder.glob("kernels-*.json")) + sorted(folder.glob("growth-*.json")):
        context = load(path)["context"]
        merged["quick"] |= context["quick"] == "yes"
        merged["load"] = max(merged["load"], *context.get("load_avg", [])[:1], 0.0)
        part = "growth" if path.name.startswith("growth-") else "kernels"
        merged[part].setdefault(context["simd"], {}).update(_benchmarks(path))
    for path in folder.glob("reduction-*.json"):
        merged["reduction"][path.stem.split("-")[1]] = load(path)
    if (folder / "peers.json").exists():
        merged["peers"] = load(folder / "peers.json")
    return merged


class Results:
    """Answers questions; raises NoData where the answer was not measured."""

    def __init__(self, merged):
        self.merged = merged

    def entry(self, part, simd, name):
        if simd not in self.targets(part):
            raise NoData(f"{part}: not measured with {simd}, which not every processor has")
        if name not in self.merged[part][simd]:
            raise NoData(f"{name} is not among the results")
        return self.merged[part][simd][name]

    def targets(self, part):
        """The targets that were measured, the best one first."""
        measured = self.merged[part]
        if not measured:
            raise NoData(f"{part}: not measured")
        return [simd for simd in ("avx512", "avx2", "neon", "portable") if simd in measured]

    def best_simd(self, part):
        return self.targets(part)[0]

    def ns(self, simd, name, part="kernels"):
        return self.entry(part, simd, name)["ns"]

    def ns_per_element(self, simd, name, part="kernels"):
        entry = self.entry(part, simd, name)
        return entry["ns"] / entry["elements"]

    def ns_per_byte(self, simd, name):
        entry = self.entry("kernels", simd, name)
        return entry["ns"] / entry["bytes"]

    def worst(self, simd, name):
        return self.entry("kernels", simd, name)["worst"]

    def spread(self, simd, part, names):
        """The largest time per element over the smallest."""
        times = [self.ns_per_element(simd, name, part) for name in names]
        return max(times) / min(times)

    def reduction(self, ranks):
        if not self.merged["reduction"]:
            raise NoData("reduction: not measured")
        measured = self.merged["reduction"].get(str(ranks))
        if measured is None:
            raise NoData(f"reduction: not measured on {ranks} ranks")
        if measured["refused"]:
            differ = 100 * abs(measured["aa_fraction"])
            raise NoData(f"refused: two equal runs differ by {differ:.2f} % of a step, also in the last of 3 tries")
        return measured

    def times_faster(self, peer, dtype, run):
        """Than a peer that took turns with us in one process, at the vocabulary where we are worst."""
        if self.merged["peers"] is None:
            raise NoData("no peers measured (scripts/bench --peers)")
        ratios = [
            entry["ns_per_element"] / entry["tokavg_ns_per_element"]
            for entry in self.merged["peers"]["results"]
            if (entry["peer"], entry["dtype"], entry["pass"]) == (peer, dtype, run)
        ]
        if not ratios:
            raise NoData(f"{peer} was not measured with {dtype}, {run}")
        return min(ratios)
