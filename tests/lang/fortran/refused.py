#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""refused.py SOURCE COMPILER MODULES: each marked line of SOURCE but FINE is an error for the compiler."""
import pathlib
import re
import subprocess
import sys
import tempfile

source, compiler, modules = sys.argv[1:]
text = pathlib.Path(source).read_text()
faults = 0
for name in re.findall(r"^!([A-Z_]+)  ", text, re.M):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "refused.f90")
        path.write_text(re.sub(rf"^!{name}  ", "  ", text, flags=re.M))
        command = [compiler, "-I", modules, "-fsyntax-only", path]
        run = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    fine = (run.returncode == 0) == (name == "FINE")
    error = re.search(r"Error: .*", run.stderr)
    print(f"{name}: {'compiles' if run.returncode == 0 else error[0] if error else run.stderr}")
    faults += not fine
sys.exit(1 if faults else 0)
