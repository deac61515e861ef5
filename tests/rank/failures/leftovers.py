# SPDX-License-Identifier: Apache-2.0
"""What a job must not leave behind: processes, and memory that is shared."""
import os
import pathlib
import shutil
import signal
import tempfile
import time

SHM = pathlib.Path("/dev/shm")


def runs(pid, folder):
    """Is this still one of the job's processes? A number may have been given to another one by now."""
    try:
        return os.fsencode(folder) in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_mapped(path):
    """By any process."""
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
        try:
            if str(path) in maps.read_text():
                return True
        except OSError:
            pass
    return False


def soon(condition, patience_s=2.0):
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Leftovers:
    """Made before the job starts. Other jobs may run on this machine: Open MPI's segments get a folder of their own, and
    those of another launcher than this job's are none of its business."""

    def __init__(self, command):
        self.mpich = "mpich" in command
        self.segments = pathlib.Path(tempfile.mkdtemp(prefix="tokavg_failures_", dir=SHM)) if SHM.is_dir() else None
        self.before = set(SHM.iterdir()) if SHM.is_dir() else set()

    def environment(self):
        return {"OMPI_MCA_btl_vader_backing_directory": str(self.segments)} if self.segments else {}

    def faults(self, pids, folder):
        """pids: by rank. Ends what still runs, by its process id."""
        faults = []
        soon(lambda: not any(runs(pid, folder) for pid in pids.values()))
        for rank, pid in sorted(pids.items()):
            if runs(pid, folder):
                faults.append(f"rank {rank}: process {pid} is left behind")
                os.kill(pid, signal.SIGKILL)
        if self.segments:
            soon(lambda: not self.files(), 1.0)
            faults += [f"left behind: {path}" for path in self.files()]
        return faults + self.system_v(set(pids.values()))

    def is_ours(self, path):
        theirs = ("vader_segment", "sm_segment", "tokavg_failures_") + (() if self.mpich else ("mpich", "ucx"))
        return not path.name.startswith(theirs)

    def files(self):
        new = [path for path in set(SHM.iterdir()) - self.before if self.is_ours(path)]
        return list(self.segments.iterdir()) + [path for path in new if path.exists() and not is_mapped(path)]

    @staticmethod
    def system_v(pids):
        lines = pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        segments = [line.split() for line in lines]
        return [f"left behind: System V segment {segment[1]}" for segment in segments if int(segment[4]) in pids]

    def close(self):
        if self.segments:
            shutil.rmtree(self.segments, ignore_errors=True)
