# SPDX-License-Identifier: Apache-2.0
"""Runs steps one after the other, each within its own time; a failure does not stop the next."""
import dataclasses
import os
import re
import signal
import subprocess
import time
import typing

SKIPPED = 77
LEFT_OUT = "left out"  # what the time of the whole run was too short for: neither a success nor a fault
STATUSES = ("passed", "failed", "skipped", LEFT_OUT)


@dataclasses.dataclass
class Step:
    name: str  # PART or PART.WHAT
    command: list  # the program, relative to the folder
    limit_s: float
    environment: dict = dataclasses.field(default_factory=dict)
    skip: str = ""  # a reason not to run it at all
    judge: typing.Callable | None = None  # (exit code or None where its time was over, output) -> (status, reason)

    @property
    def part(self):
        return self.name.split(".")[0]


def _last_line(output, word=""):
    lines = [line.strip() for line in output.splitlines() if word in line.lower() and line.strip()]
    return lines[-1] if lines else ""


def judged(step, code, output):
    """("passed", "failed" or "skipped", reason)."""
    if step.judge:
        return step.judge(code, output)
    if code == 0:
        return "passed", ""
    if code == SKIPPED:
        return "skipped", _last_line(output, "skip") or _last_line(output)
    if code is None:
        return "failed", "its time was over"
    if code < 0:
        return "failed", f"ended by {signal.Signals(-code).name}"
    return "failed", f"exit code {code}"


def telling(output):
    """The lines of a failed step that say the most: what failed, and the end."""
    lines = output.splitlines()
    faults = [line for line in lines[:-6] if re.search(r"FAIL|ERROR|error|========= [A-Z]", line)]
    return faults[:10] + lines[-6:]


class Runner:
    def __init__(self, folder, out, seconds, environment):
        self.folder = folder
        self.out = out
        self.end = time.monotonic() + seconds
        self.environment = {**os.environ, **environment}
        self.records = []
        (out / "logs").mkdir(parents=True, exist_ok=True)

    def run(self, steps):
        for number, step in enumerate(steps, 1):
            print(f"[{number:2}/{len(steps)}] {step.name}: ", end="", flush=True)
            begin = time.monotonic()
            status, reason, output = self._outcome(step)
            seconds = time.monotonic() - begin
            self.records.append({"name": step.name, "status": status, "seconds": round(seconds, 1), "reason": reason})
            print(f"{status}{f' ({reason})' if reason else ''}, {seconds:.1f} s", flush=True)
            if status == "failed":
                print("".join(f"        {line[:300]}\n" for line in telling(output)), end="", flush=True)

    def counts(self):
        return {status: sum(record["status"] == status for record in self.records)
                for status in STATUSES}

    def left_out(self):
        return [record["name"] for record in self.records if record["status"] == LEFT_OUT]

    def _outcome(self, step):
        if step.skip:
            return "skipped", step.skip, ""
        if not (self.folder / step.command[0]).exists():
            return "failed", f"{step.command[0]} is not in the folder", ""
        left = self.end - time.monotonic()
        if left < 3:
            return LEFT_OUT, "no time is left", ""
        code, output = self._execute(step, min(step.limit_s, left))
        if code is None and left < step.limit_s and judged(step, 0, output)[0] == "passed":
            return LEFT_OUT, f"the time of the whole run was over, {left:.0f} of its {step.limit_s:.0f} s were left", output
        return *judged(step, code, output), output

    def _execute(self, step, limit_s):
        """The exit code, None where the time was over, and what it printed. Its log has both streams."""
        path = self.out / "logs" / f"{step.name}.log"
        with path.open("wb") as log:
            process = subprocess.Popen([str(part) for part in [self.folder / step.command[0], *step.command[1:]]],
                                       cwd=self.folder, env={**self.environment, **step.environment},
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
        return code, path.read_text(errors="replace")


def _end(process):
    """The whole group: a launcher's ranks, a sanitizer's program."""
    for which in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, which)
        except ProcessLookupError:
            break
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            continue
