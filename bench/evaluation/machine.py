# SPDX-License-Identifier: Apache-2.0
"""On what was measured. Nothing that names the machine itself or its paths."""
import os
import pathlib
import platform
import re
import shutil
import subprocess


def _output(*command):
    """What a command prints, or "" where it is missing or fails."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def _line(text, pattern):
    found = re.search(pattern, text, flags=re.M)
    return found[1].strip() if found else "unknown"


def _read(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def _caches():
    caches = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(index / name).strip() for name in ("level", "type", "size"))
        if kind in ("Data", "Unified"):
            caches.append(f"L{level} {size}")
    return caches


def facts():
    lscpu = _output("lscpu")
    memory_kib = _line(_read("/proc/meminfo"), r"^MemTotal:\s*(\d+)")
    return {
        "cpu": _line(lscpu, r"^Model name:\s*(.*)"),
        "family": f"{_line(lscpu, r'^CPU family:(.*)')}, model {_line(lscpu, r'^Model:(.*)')}",
        "cores": len(os.sched_getaffinity(0)),
        "caches": _caches(),
        "memory_gib": round(int(memory_kib) / 2**20, 1) if memory_kib.isdigit() else None,
        "virtual": _line(lscpu, r"^Hypervisor vendor:\s*(.*)"),
        "system": f"{_line(_read('/etc/os-release'), r'^PRETTY_NAME=.(.*).$')}, Linux {platform.release()}",
    }


def software(build, root):
    """Of the binaries in a build folder."""
    compiler = _line(_read(build / "CMakeCache.txt"), r"^CMAKE_CXX_COMPILER:\w+=(.*)$")
    version = _output(compiler, "--version").splitlines() or ["unknown"]
    mpi = _output("mpiexec.openmpi", "--version").splitlines() or ["no Open MPI"]
    return {
        "compiler": version[0],
        "build_type": _line(_read(build / "CMakeCache.txt"), r"^CMAKE_BUILD_TYPE:\w+=(.*)$"),
        "mpi": mpi[0],
        "revision": _output("git", "-C", str(root), "describe", "--always", "--dirty") or "unknown",
    }
