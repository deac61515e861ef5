# SPDX-License-Identifier: Apache-2.0
"""The GPU, and what else a run can use where it is there. Nothing that names the machine itself."""
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys

QUERY = ("name", "driver_version", "compute_cap", "memory.total", "memory.free")


class NoGpu(Exception):
    """Why there is none."""


def _output(command, seconds=60):
    """What a command prints, or None where it is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _from_nvidia_smi():
    text = _output(["nvidia-smi", f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader,nounits"])
    if text is None:
        return None
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
    keys = ("name", "driver", "compute_capability", "memory_mib", "free_mib")
    return [dict(zip(keys, row)) for row in rows if len(row) == len(keys)]


def _from_driver():
    """Some containers have the driver's library and not its tool."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoGpu("neither nvidia-smi nor libcuda.so.1 is here: no NVIDIA driver") from None
    count = ctypes.c_int()
    error = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if error:
        raise NoGpu(f"the NVIDIA driver answers with error {error}")
    found = []
    for device in range(count.value):
        name, major, minor = ctypes.create_string_buffer(100), ctypes.c_int(), ctypes.c_int()
        cuda.cuDeviceGetName(name, len(name), device)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        found.append({"name": name.value.decode(), "driver": "unknown",
                      "compute_capability": f"{major.value}.{minor.value}", "memory_mib": "", "free_mib": ""})
    return found


def gpus():
    """At least one, or NoGpu."""
    found = _from_nvidia_smi()
    if found is None:
        found = _from_driver()
    if not found:
        raise NoGpu("the NVIDIA driver finds no GPU")
    return found


def nccl():
    """The folder of libnccl.so.2, "" where the loader finds it alone, or None. Python packages bring one, too."""
    try:
        ctypes.CDLL("libnccl.so.2")
        return ""
    except OSError:
        pass
    script = "import glob,sysconfig; print(*glob.glob(sysconfig.get_paths()['purelib'] + '/nvidia/nccl/lib/libnccl.so.2'))"
    for python in pythons():
        found = (_output([python, "-c", script]) or "").split()
        if found:
            return os.path.dirname(found[0])
    for path in sorted(glob.glob("/usr/local/cuda*/lib*/libnccl.so.2")):
        return os.path.dirname(path)
    return None


def pythons():
    """This one, and the one that a plain python3 is."""
    return list(dict.fromkeys(filter(None, [sys.executable, shutil.which("python3")])))


def torch_python():
    """A Python that has torch, or None. Whether that sees the GPU shows when it is used: to import it takes long."""
    script = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return next((python for python in pythons() if _output([python, "-c", script]) is not None), None)


def mpiexec():
    """(Its path, "openmpi" or "mpich"), or (None, why not)."""
    for name in ("mpiexec", "mpirun", "mpiexec.openmpi", "mpiexec.mpich"):
        path = shutil.which(name)
        text = path and _output([path, "--version"])
        if text and re.search(r"open[- ]?mpi|openrte", text, re.I):
            return path, "openmpi"
        if text and re.search(r"hydra|mpich", text, re.I):
            return path, "mpich"
    return None, "no mpiexec of Open MPI or MPICH is here"


def sanitizer():
    """The path of compute-sanitizer, or None."""
    places = [os.path.join(root, "bin") for root in sorted(glob.glob("/usr/local/cuda*"), reverse=True)]
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=os.pathsep.join(places))


def missing_libraries(program):
    """What the loader does not find for a program."""
    text = _output(["ldd", str(program)]) or ""
    return re.findall(r"(\S+) => not found", text)
