# SPDX-License-Identifier: Apache-2.0
"""smoke.py SOURCE_DIR BUILD_DIR: a quick run of scripts/bench writes all that it promises. Nothing here judges a time."""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

VOCABULARIES = ("32000", "128256")
DTYPES = ("f32", "bf16", "f16")

# Written out again, so that a benchmark that disappears is missed.
KERNELS = {
    *(f"count/{what}/{dtype}/{size}" for what in ("count", "read", "read_streams")
      for dtype in ("i32", "i64") for size in ("512KiB", "8MiB", "256MiB")),
    *(f"count/count_again/i64/{size}" for size in ("512KiB", "8MiB", "256MiB")),
    *(f"cross_entropy/{what}/{dtype}/{vocab}" for what in ("forward", "gradient", "read", "read_write")
      for dtype in DTYPES for vocab in VOCABULARIES),
    *(f"cross_entropy/exp/{dtype}/2048" for dtype in DTYPES),
    *(f"cross_entropy/forward_again/{dtype}/32000" for dtype in DTYPES),
    "loss/loss/f32/65536", "loss/plain_sum/f32/65536",
    "scale/scale/f32/64MiB", "scale/read_write/f32/64MiB",
    "threads/forward/f32/1", "threads/forward/f32/2",
    "tiny/count/i64/64", "tiny/loss/f32/256", "tiny/cross_entropy/f32/256",
    *(f"accuracy/{what}/{dtype}/5000" for what in ("loss", "gradient") for dtype in ("f32", "bf16")),
}
GROWTH = {
    *(f"vocabulary/{what}/f32/{2**power}" for what in ("forward", "gradient") for power in range(13, 19)),
    *(f"tokens/{what}/{4**power}" for what in ("count/i64", "loss/f32") for power in range(5, 11)),
    *(f"microbatches/step/i64/{2**power}" for power in range(6)),
}
GOALS = [f"G{number}" for number in range(1, 10)]


def expect(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def check_benchmarks(measured, names, where):
    expect(measured, f"{where}: nothing was measured")
    for simd, found in measured.items():
        expect(set(found) == names, f"{where}, {simd}: missing or unexpected: {sorted(set(found) ^ names)}")
        for name, entry in found.items():
            numbers = [value for key, value in entry.items() if key != "ns_quartiles"] + entry["ns_quartiles"]
            expect(all(math.isfinite(value) and value > 0 for value in numbers), f"{where}, {simd}: {name} holds {entry}")


def check_reduction(merged, log):
    if "no reduction" in log:
        print("without the reduction: " + log[log.index("no reduction"):].splitlines()[0])
        return
    expect(set(merged["reduction"]) == {"2", "4", "8", "16"}, f"reduction: measured on {sorted(merged['reduction'])} ranks")
    for ranks, run in merged["reduction"].items():
        expect(run["ranks"] == int(ranks) and not run["refused"], f"reduction, {ranks} ranks: {run}")
        expect(math.isfinite(run["aa_fraction"]), f"reduction, {ranks} ranks: the A/A pair is {run['aa_fraction']}")
        for name, mode in run["modes"].items():
            expect(math.isfinite(mode["exposed_fraction"]) and mode["step_seconds"] > 0, f"{ranks} ranks, {name}: {mode}")
        expect(min(run["calls"].values()) > 0, f"reduction, {ranks} ranks: calls are {run['calls']}")


def check_table(merged, folder, report):
    text = (folder / "table.txt").read_text()
    for table in (text, report):
        rows = [line.replace("|", " ").split() for line in table.splitlines()]
        for goal in GOALS:
            verdicts = [row for row in rows if row[:1] == [goal]]
            expect(len(verdicts) >= 2, f"the table lacks {goal} or its verdict:\n{table}")
    expect(all(("why" in row) == (row["value"] is None) for row in merged["goals"]), "a goal has neither data nor a reason")


def main():
    source, build = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [source / "scripts" / "bench", "--quick", "--no-build", "--build-dir", build, "--out", folder]
        done = subprocess.run(command, capture_output=True, text=True)
        expect(done.returncode == 0, f"scripts/bench ends with {done.returncode}\n{done.stdout}{done.stderr}")
        merged = json.loads((folder / "results.json").read_text())
        expect(merged["quick"], "a quick run does not say that it is one")
        check_benchmarks(merged["kernels"], KERNELS, "kernels")
        check_benchmarks(merged["growth"], GROWTH, "growth")
        check_reduction(merged, done.stdout)
        markdown = subprocess.run([sys.executable, "-B", source / "bench" / "report.py", folder, "--markdown"],
                                  capture_output=True, text=True, check=True)
        check_table(merged, folder, markdown.stdout)
        if "no plots" not in done.stdout:
            for drawing in ("kernels.svg", "growth.svg"):
                expect("</svg>" in (folder / drawing).read_text(), f"{drawing} is not drawn")
    print(f"{len(KERNELS)} benchmarks for each of {', '.join(merged['kernels'])}, {len(GROWTH)} of growth, all finite")


if __name__ == "__main__":
    main()
