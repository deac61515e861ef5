# SPDX-License-Identifier: Apache-2.0
"""Runs the tokavg command for the tests of this folder."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WAYS = ("one_process", "local_mean", "tokavg_pre", "tokavg_post")


def expect(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def run(command, code=0, **more):
    """The finished process; its exit code must be `code`."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **more)
    expect(done.returncode == code,
           f"{' '.join(map(str, command))}: code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done


def run_json(command, code=0):
    """What the command writes with --json."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "out.json")
        run([*command, "--json", path], code)
        return json.loads(path.read_text())


def without_launcher():
    """The environment of a process that no mpiexec started."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI"))}
