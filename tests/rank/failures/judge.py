# SPDX-License-Identifier: Apache-2.0
"""judge.py SCENARIO VICTIM RANKS SLACK_MS MODE COMMAND...

Runs COMMAND FOLDER SCENARIO VICTIM MODE and judges by the files that the ranks leave in FOLDER: where ranks are missing a
launcher's exit status says nothing. Whatever is left of the job afterwards is ended by its process id.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import verdicts

DEADLINE_MS = 1500


class Pulse(threading.Thread):
    """How long this process was not run although it wanted to be: a machine that stands still delays the ranks as much."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest_ms = 0.0

    def run(self):
        while True:
            before = time.monotonic()
            time.sleep(0.01)
            self.longest_ms = max(self.longest_ms, (time.monotonic() - before) * 1e3 - 10)


def end_of(process):
    """Waits; a job that does not end is a failure, and its whole session goes."""
    try:
        output = process.communicate(timeout=60)[0]
        return output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0] + "\nthe job did not end\n"


def reap(results):
    """Ranks that outlived their launcher: only processes that still run this program."""
    for result in results.values():
        try:
            words = pathlib.Path(f"/proc/{result['pid']}/cmdline").read_bytes()
            if result["folder"].encode() in words:
                os.kill(result["pid"], signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass


def read_results(folder):
    results = {}
    for path in pathlib.Path(folder).glob("*.json"):
        result = json.loads(path.read_text())
        result["folder"] = folder
        results[result["rank"]] = result
    return results


def main():
    scenario, victim, ranks, slack, mode, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([*command, folder, scenario, victim, mode], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        pulse = Pulse()
        pulse.start()
        output = end_of(process)
        results = read_results(folder)
        reap(results)
    # Ordinary scheduling delays are the library's to bear; a pause of the whole machine is granted, and told.
    pause = pulse.longest_ms if pulse.longest_ms > 50 else 0.0
    story = verdicts.Story(scenario, int(victim), int(ranks), DEADLINE_MS, float(slack) + pause, results)
    if pause > 0:
        story.remarks.append(f"the machine stood still for {pause:.0f} ms")
    faults = verdicts.judge(story)
    for fault in faults:
        print(fault)
    for line in story.remarks:
        print(line)
    if faults:
        print(f"exit status {process.returncode}; output:\n{output[-6000:]}")
        for rank, result in sorted(results.items()):
            for call in result["calls"]:
                print(rank, json.dumps(call))
    print(f"{scenario}, {ranks} ranks, rank {victim} deviates: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
