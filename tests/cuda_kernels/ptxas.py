#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptxas.py root include source architecture: compiles a source of src/device/cuda for one GPU and fails if a kernel
spills registers. Skips (77) where there is no nvcc."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# As cmake/TokavgCuda.cmake has them.
FLAGS = ["-std=c++20", "--expt-relaxed-constexpr", "--fmad=false", "-O3", "-Xptxas=-v"]


def find_nvcc():
    for candidate in (os.environ.get("CUDACXX"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return None


def readable(symbol):
    """block_kernel<f, NoCap> rather than _ZN6tokavg4cuda..."""
    words = re.findall(r"[a-z_]+_kernel|NoCap|Cap|bfloat16|half|If|Ii|Il", symbol)
    return " ".join({"If": "float", "Ii": "int32", "Il": "int64"}.get(word, word) for word in words) or symbol


def kernels_of(text):
    """(kernel, registers, spilled bytes) for each kernel that ptxas reports."""
    kernel, spilled = None, 0
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)'", line):
            kernel, spilled = entry[1], 0
        elif spills := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled = int(spills[1]) + int(spills[2])
        elif (used := re.search(r"Used (\d+) registers", line)) and kernel:
            yield readable(kernel), int(used[1]), spilled
            kernel = None


def main():
    root, generated, source, architecture = sys.argv[1:]
    nvcc = find_nvcc()
    if nvcc is None:
        print("skipped: there is no nvcc")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, *FLAGS, f"-arch=sm_{architecture}", "-cubin", "-o", str(pathlib.Path(folder) / "kernels.cubin"),
                   f"-I{root}/src", f"-I{root}/include", f"-I{generated}", f"{root}/src/device/cuda/{source}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if "Unsupported gpu architecture" in done.stderr or "not defined for option" in done.stderr:
            print(f"skipped: {nvcc} does not know sm_{architecture}")
            return SKIPPED
        print(done.stdout, done.stderr, sep="\n")
        return 1
    kernels = list(kernels_of(done.stdout + done.stderr))
    for name, registers, spilled in kernels:
        print(f"sm_{architecture} {name}: {registers} registers, {spilled} bytes spilled")
    if not kernels:
        print("ptxas reported no kernel")
        return 1
    return 1 if any(spilled for _, _, spilled in kernels) else 0


if __name__ == "__main__":
    sys.exit(main())
