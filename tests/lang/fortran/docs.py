#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py TEXT COMPILER MODULES: each block of Fortran in the text compiles."""
import pathlib
import re
import subprocess
import sys
import tempfile

text, compiler, modules = sys.argv[1:]
blocks = re.findall(r"^```fortran\n(.*?)^```", pathlib.Path(text).read_text(), re.M | re.S)
with tempfile.TemporaryDirectory() as folder:
    for number, block in enumerate(blocks, 1):
        path = pathlib.Path(folder, f"block_{number}.f90")
        path.write_text(block)
        subprocess.run([compiler, "-I", modules, "-fimplicit-none", "-fsyntax-only", path], check=True, cwd=folder)
print(f"{len(blocks)} blocks compile")
sys.exit(0 if blocks else 1)
