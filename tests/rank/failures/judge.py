# SPDX-License-Identifier: Apache-2.0
"""judge.py SCENARIO VICTIM RANKS SLACK_MS DEADLINE_MS MODE COMMAND...

Runs COMMAND FOLDER SCENARIO VICTIM DEADLINE_MS MODE and judges by the files that the ranks leave in FOLDER: where ranks are
missing a launcher's exit status says nothing. Nothing of the job may be left behind; what is, is ended by its process id.

Where TOKAVG_FAILURE_LOG names a file, a line of JSON is added to it: how soon each rank noticed. detection_times.py reads it.
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
from leftovers import Leftovers


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


def files_of_ranks(folder, suffix):
    return {int(path.stem): path.read_text() for path in pathlib.Path(folder).glob(f"*{suffix}")}


def log_times(story, program, mode):
    path = os.environ.get("TOKAVG_FAILURE_LOG")
    if not path:
        return
    entry = {"scenario": story.scenario, "program": program, "mode": mode, "ranks": story.ranks, "victim": story.victim,
             "deadline_ms": story.deadline_ms, "faults": len(story.faults),
             "after_deadline_ms": [round(ms, 2) for ms in story.after_deadline_ms],
             "told_ms": [round(ms, 2) for ms in story.told_ms]}
    with open(path, "a", encoding="utf-8") as log:
        log.write(json.dumps(entry) + "\n")


def main():
    scenario, victim, ranks, slack, deadline, mode, *command = sys.argv[1:]
    leftovers = Leftovers(command)
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([*command, folder, scenario, victim, deadline, mode], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                   env={**os.environ, **leftovers.environment()})
        pulse = Pulse()
        pulse.start()
        output = end_of(process)
        results = {rank: json.loads(text) for rank, text in files_of_ranks(folder, ".json").items()}
        pids = {rank: int(text) for rank, text in files_of_ranks(folder, ".pid").items()}
        struck = files_of_ranks(folder, ".struck")
        left = files_of_ranks(folder, ".left")
        left_behind = leftovers.faults(pids, folder)
        leftovers.close()
    # Ordinary scheduling delays are the library's to bear; a pause of the whole machine is granted, and told.
    pause = pulse.longest_ms if pulse.longest_ms > 50 else 0.0
    story = verdicts.Story(scenario, int(victim), int(ranks), float(deadline), float(slack) + pause, results, struck, left)
    if pause > 0:
        story.remarks.append(f"the machine stood still for {pause:.0f} ms")
    faults = verdicts.judge(story)
    faults += left_behind
    log_times(story, pathlib.Path(command[-1]).name, mode)
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
