#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stops.py PROGRAM: how a Fortran program ends that gives no stat=."""
import subprocess
import sys

CASES = {
    "library": ["tokavg: count: TOKAVG_ERR_ARGUMENT: ", "term is 5"],
    "errmsg": ["tokavg: count: TOKAVG_ERR_ARGUMENT: ", "term is 5"],
    "binding": ["tokavg: scale: TOKAVG_ERR_ARGUMENT: the array is not contiguous"],
    "pending": ["tokavg: wait: TOKAVG_PENDING: ", "tokavg_flush"],
    "init": ["tokavg: tokavg_init: TOKAVG_ERR_CONFIG: ", "comm_kind"],
    "empty": None,
}

faults = 0
for case, texts in CASES.items():
    run = subprocess.run([sys.argv[1], case], capture_output=True, text=True)
    if texts is None:
        fine = run.returncode == 0 and "went on" in run.stdout
    else:
        fine = run.returncode > 0 and "went on" not in run.stdout and all(text in run.stderr for text in texts)
    print(f"{case}: code {run.returncode}: {run.stderr.splitlines()[:1]}")
    if not fine:
        faults += 1
        print(f"  not as expected: {texts}\n{run.stdout}{run.stderr}")
sys.exit(1 if faults else 0)
