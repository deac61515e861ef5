#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions the calls on the path of every step take, against tests/data/instructions.json.

Usage: check.py PROGRAM COMPILER GOLDEN [--update]

Unlike times, instruction counts do not depend on what else the machine does: a rise of more than 5 % fails. They do depend
on the compiler, so with another one than that of the file the test is skipped. The vector kernels are pinned to AVX2, the
best that valgrind knows.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOLERANCE = 0.05
CALLS = 20
# Each workload, and the functions of the library whose instructions count.
WORKLOADS = {
    "count_64": ["tokavg_count"],
    "count_4096": ["tokavg_count"],
    "reduce": ["tokavg_count_add", "tokavg_reduce"],
    "loss_256": ["tokavg_loss"],
    "cross_entropy_4096": ["tokavg_cross_entropy"],
    "cross_entropy_gradient_4096": ["tokavg_cross_entropy"],
}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def instructions(program, name, calls, functions):
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        command += [f"--toggle-collect={function}" for function in functions]
        command += [program, name, str(calls)]
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TOKAVG_SIMD": "avx2"})
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
        return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def per_call(program, name):
    # The difference of two runs leaves out what only the first calls do.
    functions = WORKLOADS[name]
    return (instructions(program, name, 2 * CALLS, functions) - instructions(program, name, CALLS, functions)) // CALLS


def main():
    program, compiler, golden_file = sys.argv[1:4]
    if shutil.which("valgrind") is None:
        skip("valgrind is not installed")
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        skip("the counts are those of a processor with AVX2")
    measured = {name: per_call(program, name) for name in WORKLOADS}
    if "--update" in sys.argv:
        golden = {"compiler": compiler, "instructions per call": measured}
        pathlib.Path(golden_file).write_text(json.dumps(golden, indent=2) + "\n")
        return
    golden = json.loads(pathlib.Path(golden_file).read_text())
    if golden["compiler"] != compiler:
        skip(f"the counts were taken with {golden['compiler']}, this is {compiler}")
    risen = 0
    for name, now in measured.items():
        before = golden["instructions per call"][name]
        change = now / before - 1
        print(f"{name:30} {before:8} -> {now:8} {change:+7.1%}")
        risen += change > TOLERANCE
        if change < -TOLERANCE:
            print(f"{'':30} fewer than recorded: update the file, so that they stay so")
    sys.exit(f"{risen} rose by more than {TOLERANCE:.0%}" if risen else 0)


main()
