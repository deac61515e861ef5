# SPDX-License-Identifier: Apache-2.0
"""What a run found, as results.json and as text for a terminal or as Markdown."""
import datetime
import json

from evaluation import goals as evaluation
from evaluation import machine, table

from . import goals
from .runner import LEFT_OUT


def _load(path):
    return json.loads(path.read_text()) if path.exists() else None


def merge(runner, plan, build, seconds):
    """Everything, in runner.out/results.json, and as text beside it."""
    bench, peers = _load(runner.out / "bench.json"), _load(runner.out / "peers.json")
    answers = goals.Results(bench, peers)
    merged = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "quick": plan.quick,
        "emulated": plan.suffix == "emulated",
        "seconds": round(seconds),
        "gpus": plan.gpus,
        "machine": machine.facts(),
        "build": build,
        "steps": runner.records,
        "counts": runner.counts(),
        "left_out": runner.left_out(),
        "bench": bench,
        "peers": peers,
        "goals": evaluation.evaluate(answers, goals.CHECKS),
        "noise": goals.noise(answers),
    }
    (runner.out / "results.json").write_text(json.dumps(merged, indent=1) + "\n")
    (runner.out / "report.txt").write_text("\n".join(text(merged)) + "\n")
    return merged


def version(number):
    """CUDA's 13020 is 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _facts(merged):
    if merged["emulated"]:
        yield "ON THE EMULATOR: it shows that everything runs. Its times mean nothing."
    if merged["quick"]:
        yield "A QUICK RUN: little was measured, and no large array was used."
    for gpu in merged["gpus"]:
        yield f"{gpu['name']}, {gpu['memory_mib']} MiB, compute capability {gpu['compute_capability']}, driver {gpu['driver']}"
    device = (merged["bench"] or {"context": {}})["context"].get("device", {})
    if "driver" in device:
        yield f"CUDA: driver for {version(device['driver'])}, runtime {version(device['runtime'])}"
    yield f"{merged['machine']['cpu']}, {merged['machine']['cores']} cores; {merged['machine']['system']}"
    build = merged["build"]
    yield (f"tokavg {build.get('revision', 'unknown')}, {build['compiler']}, nvcc {build['nvcc']} for {build['architectures']}; "
           f"{merged['date']}")


def _remarks(merged):
    if merged["noise"]:
        yield table.noise_remark(merged["noise"])
    for note in (merged["peers"] or {}).get("notes", []):
        yield f"peers: {note}"


def _benchmarks(merged):
    """(name, us, GB/s, share of its yardstick)."""
    measured = (merged["bench"] or {"benchmarks": {}})["benchmarks"]
    yardsticks = dict(goals.ratios())
    for name, entry in measured.items():
        rate = f"{entry['bytes'] / entry['us'] * 1e-3:.0f}" if "bytes" in entry else ""
        yardstick = measured.get(yardsticks.get(name))
        share = entry["bytes"] / entry["us"] / yardstick["bytes"] * yardstick["us"] if yardstick else None
        yield name, f"{entry['us']:.2f}", rate, "" if share is None else f"{share:.3f}"


def _peers(merged):
    for entry in (merged["peers"] or {"results": []})["results"]:
        yield (entry["peer"], entry["dtype"], str(entry["vocab"]), f"{entry['us']:.1f}", f"{entry['tokavg_us']:.1f}",
               f"{entry['us'] / entry['tokavg_us']:.2f}")


def _steps(merged):
    for record in merged["steps"]:
        yield record["name"], record["status"], f"{record['seconds']:.1f}", record["reason"]


TABLES = (
    (("step", "", "s", "why"), "llrl", _steps),
    (("benchmark", "us", "GB/s", "/ yardstick"), "lrrr", _benchmarks),
    (("peer", "dtype", "V", "us", "tokavg, us", "ratio"), "llrrrr", _peers),
)


def _columns(head, sides, rows):
    """Lines for a terminal."""
    rows = [head, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        yield "  ".join(f"{cell:{'>' if side == 'r' else '<'}{width}}"
                        for cell, side, width in zip(row, sides, widths)).rstrip()


def text(merged):
    lines = [*_facts(merged), ""]
    for head, sides, rows_of in TABLES:
        if rows := list(rows_of(merged)):
            lines += [*_columns(head, sides, rows), ""]
    return [*lines, *table.text_of(merged["goals"]), "", *_remarks(merged), "", summary(merged)]


def markdown(merged):
    """For docs/measurements."""
    lines = [*(f"- {fact}" for fact in _facts(merged)), f"- {summary(merged)}", ""]
    lines += [*table.markdown_of(merged["goals"]), ""]
    for head, sides, rows_of in TABLES:
        if rows := list(rows_of(merged)):
            lines += [table.markdown_line(head), "|" + "|".join("--:" if side == "r" else "---" for side in sides) + "|"]
            lines += [*map(table.markdown_line, rows), ""]
    return [*lines, *(f"- {remark}" for remark in _remarks(merged))]


def summary(merged):
    counts = ", ".join(f"{merged['counts'][status]} {status}" for status in ("passed", "failed", "skipped"))
    left_out = [record["name"] for record in merged["steps"] if record["status"] == LEFT_OUT]
    return f"{counts}; INCOMPLETE, no time was left for {', '.join(left_out)}" if left_out else counts
