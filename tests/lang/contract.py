#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs drivers over the contract cases and judges what they write; see README.md.

Usage: contract.py CONTRACT self|RANKS COMMAND...
"""
import pathlib
import subprocess
import sys
import tempfile

import cases
import judge


def main():
    contract, ranks, *command = sys.argv[1:]
    ranks = None if ranks == "self" else int(ranks)
    wanted = cases.read(contract)
    with tempfile.TemporaryDirectory() as folder:
        text, out = pathlib.Path(folder, "cases.txt"), pathlib.Path(folder, "out")
        text.write_text(cases.as_text(wanted))
        command = [word.replace("{cases}", str(text)).replace("{out}", str(out)) for word in command]
        code = subprocess.run(command).returncode
        if code == 77:
            sys.exit(77)
        paths = [f"{out}.{rank}" for rank in range(ranks or 1)]
        faults, runs = judge.judge(wanted, paths, ranks)
    if code != 0:
        faults.append(f"{command[0]}: exit code {code}")
    print("\n".join(faults[:40]))
    print(f"{runs} runs, {len(faults)} faults")
    sys.exit(1 if faults or runs == 0 else 0)


main()
