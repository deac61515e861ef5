# SPDX-License-Identifier: Apache-2.0
"""The results of one run, and what a verdict can ask of them."""
import re

AT_ONCE_MS = 500
TOLD = ("DESYNC", "PEER", "ABORTED")


class Story:
    """The results of one run, and the faults found in them."""

    def __init__(self, scenario, victim, ranks, deadline_ms, slack_ms, results, struck=(), left=()):
        self.scenario = scenario
        self.victim = victim
        self.ranks = ranks
        self.deadline_ms = deadline_ms
        self.slack_ms = slack_ms
        self.results = results
        self.struck = struck  # ranks to which the fault was done
        self.left = left  # ranks whose exit() went through
        self.faults = []
        self.remarks = []
        self.after_deadline_ms = []  # when a rank gave up
        self.told_ms = []  # when a rank heard of what is wrong, where no deadline is needed

    @property
    def names_ranks(self):
        return all(result.get("names_ranks", True) for result in self.results.values())

    @property
    def in_time_ms(self):
        return self.deadline_ms + self.slack_ms

    def others(self):
        return [rank for rank in range(self.ranks) if rank != self.victim]

    def everybody(self):
        return list(range(self.ranks))

    def calls(self, rank, prefix):
        """The calls of a rank whose tag is prefix, or begins with it where it ends in a dot or is empty."""
        found = [call for call in self.results.get(rank, {"calls": []})["calls"]
                 if call["tag"] == prefix or (prefix[-1:] in (".", "") and call["tag"].startswith(prefix))]
        if not found:
            self.faults.append(f"rank {rank}: no call {prefix}")
        return found

    def expect(self, fine, rank, call, what):
        if not fine:
            self.faults.append(f"rank {rank}: {call['tag']} is {call}: {what}")

    def status(self, ranks, prefix, *accepted, text=None, within_ms=None):
        """All calls `prefix` of these ranks have one of the statuses, a text that holds `text`, and were quick enough."""
        names = ["TOKAVG_OK" if name == "OK" else
                 f"TOKAVG_{name}" if name in ("EMPTY", "PENDING") else f"TOKAVG_ERR_{name}" for name in accepted]
        for rank in ranks:
            for call in self.calls(rank, prefix):
                self.expect(call["status"] in names, rank, call, f"not {names}")
                if text is not None:
                    self.expect(text in call.get("text", ""), rank, call, f"no '{text}' in its text")
                if within_ms is not None:
                    self.expect(call["ms"] <= within_ms, rank, call, f"later than {within_ms} ms")
                    if any(name in TOLD for name in accepted):
                        self.told_ms.append(call["ms"])

    def good(self, ranks, prefix):
        for rank in ranks:
            for call in self.calls(rank, prefix):
                self.expect(call["status"] == "TOKAVG_OK", rank, call, "not OK")
                if "expected_tokens" in call:
                    self.expect(call["tokens"] == call["expected_tokens"], rank, call, "wrong sum")

    def value(self, ranks, tag, name, expected):
        for rank in ranks:
            for call in self.calls(rank, tag):
                self.expect(call.get(name) == expected, rank, call, f"{name} is not {expected}")

    def untouched(self):
        """No call that failed has written to what it was given."""
        for rank, result in self.results.items():
            for call in result["calls"]:
                if call["status"].startswith("TOKAVG_ERR_"):
                    self.expect(call.get("untouched", True), rank, call, "it failed, and wrote to its output")

    def names_victim(self, rank, call):
        found = re.search(r"ranks? ([0-9, ]+) did not arrive", call.get("text", ""))
        named = found.group(1) if found else None
        self.expect(named == str(self.victim), rank, call, f"names {named}, not {self.victim}")

    def gave_up(self, calls, names_victim=True):
        """These calls, (rank, call), are the first that failed on their ranks: TIMEOUT, within the deadline and its 0.1 s,
        and the same list on all ranks that names the victim."""
        if not calls:
            return
        for rank, call in calls:
            self.expect(call["status"] == "TOKAVG_ERR_TIMEOUT", rank, call, "not TIMEOUT")
            self.expect(call["ms"] <= self.in_time_ms, rank, call, f"later than {self.in_time_ms} ms")
            self.after_deadline_ms.append(call["ms"] - self.deadline_ms)
            if names_victim and self.names_ranks:
                self.names_victim(rank, call)
        soonest = min(call["ms"] for _, call in calls)
        slowest = max(call["ms"] for _, call in calls)
        self.remarks.append(f"{calls[0][1]['tag']}: noticed after {soonest:.1f} to {slowest:.1f} ms of {self.deadline_ms:g}")
        if slowest < self.deadline_ms:
            self.faults.append(f"{calls[0][1]['tag']}: all ranks gave up before the deadline")

    def timeout(self, ranks, tag, names_victim=True):
        self.gave_up([(rank, call) for rank in ranks for call in self.calls(rank, tag)], names_victim)
