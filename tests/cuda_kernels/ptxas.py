#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptxas.py report architecture...: reads what ptxas said when a source of src/device/cuda was compiled (keep_report), and
fails if a kernel spills registers, or if there is none for one of the GPUs."""

import pathlib
import re
import sys


def readable(symbol):
    """block_kernel float NoCap rather than _ZN6tokavg4cuda..."""
    words = re.findall(r"[a-z_]+_kernel|NoCap|Cap|bfloat16|half|If|Ii|Il", symbol)
    return " ".join({"If": "float", "Ii": "int32", "Il": "int64"}.get(word, word) for word in words) or symbol


def kernels_of(text):
    """(architecture, kernel, registers, spilled bytes) for each kernel that ptxas reports."""
    kernel, spilled = None, 0
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
            kernel, architecture, spilled = entry[1], entry[2], 0
        elif spills := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled = int(spills[1]) + int(spills[2])
        elif (used := re.search(r"Used (\d+) registers", line)) and kernel:
            yield architecture, readable(kernel), int(used[1]), spilled
            kernel = None


def main():
    report, *architectures = sys.argv[1:]
    kernels = list(kernels_of(pathlib.Path(report).read_text(encoding="utf-8")))
    faults = [f"ptxas reported no kernel for {wanted}" for wanted in architectures
              if not any(wanted == architecture for architecture, *_ in kernels)]
    if not kernels:
        faults.append("ptxas reported no kernel")
    for architecture, name, registers, spilled in kernels:
        print(f"{architecture} {name}: {registers} registers, {spilled} bytes spilled")
        if spilled:
            faults.append(f"{architecture} {name} spills")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
