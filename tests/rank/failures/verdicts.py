# SPDX-License-Identifier: Apache-2.0
"""What each scenario must leave behind, rank by rank."""
import re

AT_ONCE_MS = 500


class Story:
    """The results of one run, and the faults found in them."""

    def __init__(self, scenario, victim, ranks, deadline_ms, slack_ms, results):
        self.scenario = scenario
        self.victim = victim
        self.ranks = ranks
        self.deadline_ms = deadline_ms
        self.slack_ms = slack_ms
        self.results = results
        self.faults = []
        self.remarks = []

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

    def timeout(self, ranks, tag, names_victim=True):
        """TIMEOUT within the deadline and its 0.1 s, and the same list on all ranks that names the victim."""
        self.status(ranks, tag, "TIMEOUT", within_ms=self.deadline_ms + self.slack_ms)
        calls = [(rank, call) for rank in ranks for call in self.calls(rank, tag)]
        if not calls:
            return
        slowest = max(call["ms"] for _, call in calls)
        self.remarks.append(f"{tag}: noticed after {min(call['ms'] for _, call in calls):.1f} to {slowest:.1f} ms of "
                            f"{self.deadline_ms}")
        if slowest < self.deadline_ms:
            self.faults.append(f"{tag}: all ranks gave up before the deadline")
        if not names_victim:
            return
        for rank, call in calls:
            found = re.search(r"ranks? ([0-9, ]+) did not arrive", call.get("text", ""))
            named = found.group(1) if found else None
            self.expect(named == str(self.victim), rank, call, f"names {named}, not {self.victim}")


def init_missing(story):
    story.timeout(story.others(), "missing", names_victim=False)
    story.status(story.others(), "free", "OK", within_ms=AT_ONCE_MS)


def init_unreachable(story):
    story.status([story.victim], "unreachable", "CONFIG", "ARGUMENT", "HANDLE", within_ms=AT_ONCE_MS)
    story.timeout(story.others(), "missing", names_victim=False)


def again(story, ranks, status):
    """Sticky: the first error, at once, and nothing is handed out."""
    story.status(ranks, "again.", status, within_ms=50)
    story.value([rank for rank in ranks if story.calls(rank, "again.reduce")], "again.reduce", "ticket", 0)


def reduce_missing(story):
    story.good(story.everybody(), "good")
    story.timeout(story.others(), "missing")
    again(story, story.others(), "TIMEOUT")
    story.status(story.everybody(), "free", "OK", within_ms=AT_ONCE_MS)
    # It comes after the others gave up: it must not take an old sum for a new one, nor wait for ever.
    story.status([story.victim], "late", "TIMEOUT", "STATE", "ARGUMENT", within_ms=story.deadline_ms + story.slack_ms)


def reduce_killed(story):
    story.timeout(story.others(), "missing")
    again(story, story.others(), "TIMEOUT")
    story.status(story.others(), "free", "OK", within_ms=AT_ONCE_MS)


def ring_late(story):
    for rank in story.everybody():
        story.good([rank], "newest")
        story.good([rank], "kept")
    story.status(story.everybody(), "reduce.", "OK")
    story.status(story.everybody(), "stale", "STALE", text="in_flight")
    story.good(story.everybody(), "next")
    story.status(story.everybody(), "finalize", "OK")
    for rank in story.others():
        for call in story.calls(rank, "reduce.3"):
            story.expect(call["ms"] > story.deadline_ms / 4, rank, call, "did not wait for a ticket to come free")


def ring_missing(story):
    story.timeout(story.others(), "missing")
    story.value(story.others(), "missing", "ticket", 0)
    again(story, story.others(), "TIMEOUT")
    story.status(story.everybody(), "free", "OK", within_ms=AT_ONCE_MS)


def desync(story):
    for step in (1, 2, 3):
        story.good(story.everybody(), f"good.{step}")
    story.status(story.everybody(), "desync", "DESYNC", within_ms=AT_ONCE_MS)
    for rank in story.everybody():
        for call in story.calls(rank, "desync"):
            text = call.get("text", "")
            if story.ranks == 2:
                story.expect("the two ranks differ" in text, rank, call, "with two ranks nobody can be named")
            elif rank == story.victim:
                story.expect("this rank or several differ" in text, rank, call, "does not suspect itself")
            else:
                story.expect(f"rank {story.victim} differs" in text, rank, call, "does not name the rank")
    again(story, story.everybody(), "DESYNC")
    story.status(story.everybody(), "free", "OK", within_ms=AT_ONCE_MS)


LOCAL = {"bad_label": "LABEL", "bad_shape": "ARGUMENT", "no_labels": "ARGUMENT", "bad_weight": "WEIGHT",
         "overflow": "OVERFLOW", "bad_loss": "ARGUMENT", "second_discard": "STATE", "bad_divisor": "ARGUMENT",
         "bad_flags": "UNSUPPORTED", "no_ticket": "ARGUMENT", "late_label": "LABEL"}


def local_failures(story):
    me = [story.victim]
    for name, status in LOCAL.items():
        story.status(me, name, status)
        story.status(me, f"{name}.wait", status)
        story.status(me, f"{name}.factor", status)
        story.status(story.others(), f"{name}.wait", "PEER", text=f"rank {story.victim}", within_ms=AT_ONCE_MS)
        story.status(story.others(), f"{name}.factor", "PEER", text=f"rank {story.victim}")
        story.value(story.everybody(), f"{name}.wait", "failed_ranks", 1)
        story.value(story.everybody(), f"{name}.wait", "first_failed_rank", story.victim)
        story.good(story.everybody(), f"{name}.next")
    story.value(me, "bad_label", "untouched", True)
    story.value(me, "late_label", "untouched", True)
    story.good(story.everybody(), "late_label.counts")
    story.status(me, "flushed", "LABEL", text="99")
    story.status(me, "flushed.wait", "LABEL")
    story.status(story.others(), "flushed.wait", "PEER", text=f"rank {story.victim}")
    story.status(me, "flushed_again.wait", "LABEL")
    story.status(story.others(), "flushed_again.wait", "PEER", text=f"rank {story.victim}")
    story.good(story.everybody(), "flushed_again.next")
    for name in ("too_many_tokens", "too_much_weight"):
        story.status(story.everybody(), f"{name}.wait", "OVERFLOW", within_ms=AT_ONCE_MS)
        story.status(story.everybody(), f"{name}.factor", "OVERFLOW")
        story.good(story.everybody(), f"{name}.next")
    if story.ranks > 2:
        two = [story.victim, (story.victim + 1) % story.ranks]
        story.status(two, "two_fail.wait", "ARGUMENT")
        story.status([rank for rank in story.everybody() if rank not in two], "two_fail.wait", "PEER", text="2 ranks")
        story.value(story.everybody(), "two_fail.wait", "first_failed_rank", -1)
        story.good(story.everybody(), "two_fail.next")
    story.status(story.everybody(), "finalize", "OK")


def config_mismatch(story):
    for name in ("gradient_reduction", "gradient_ranks", "label_copies", "microbatch_shards", "accumulation_divisor",
                 "ignore_index", "divisor", "terms", "in_flight", "device"):
        story.status(story.everybody(), f"differs.{name}", "CONFIG", text=f"config.{name} is not the same",
                     within_ms=AT_ONCE_MS)
        if story.ranks > 2:
            story.status(story.others(), f"differs.{name}", "CONFIG", text=f"rank {story.victim} differs")
    for name in ("terms", "gradient_reduction", "label_copy_index", "in_flight", "accumulation_divisor"):
        story.status([story.victim], f"wrong.{name}", "CONFIG", text=f"config.{name} is", within_ms=AT_ONCE_MS)
        story.status(story.others(), f"wrong.{name}", "PEER", text=f"rank {story.victim}", within_ms=AT_ONCE_MS)
    for name in ("label_copy_index", "label_copies", "asks_only"):
        # With an odd number of ranks two copies cannot be complete, and that is said first.
        field = "label_copies" if name == "label_copy_index" and story.ranks % 2 else name
        story.status(story.everybody(), f"together.{name}", "CONFIG", text=f"config.{field}", within_ms=AT_ONCE_MS)
    story.status(story.everybody(), "may_differ", "OK")
    story.good(story.everybody(), "good")
    story.status(story.everybody(), "finalize", "OK")


def abort_while_waiting(story):
    story.status(story.others(), "aborted", "ABORTED", within_ms=300 + AT_ONCE_MS)
    for rank in story.others():
        for call in story.calls(rank, "aborted"):
            story.expect(call["ms"] >= 200, rank, call, "did not wait")
            story.remarks.append(f"rank {rank} noticed the abort after {call['ms'] - 300:.1f} ms")
    again(story, story.others(), "ABORTED")
    story.status([story.victim], "late", "ABORTED", "STATE", "ARGUMENT", within_ms=AT_ONCE_MS)
    story.status(story.everybody(), "free", "OK", within_ms=AT_ONCE_MS)


def several_contexts(story):
    story.value(story.everybody(), "rounds", "wrong", 0)
    story.status(story.everybody(), "free", "OK")
    prefix = "finalize" if story.scenario == "overlapping_groups" else "finalize."
    story.status(story.everybody(), prefix, "OK")


def finalize_sends(story):
    story.good(story.everybody(), "after")
    story.value(story.everybody(), "after", "mean_loss", 2.0)
    story.value(story.everybody(), "after", "flags", 1)
    story.good(story.everybody(), "after.factor")
    story.good(story.everybody(), "after.describe")
    story.status(story.everybody(), "state.", "STATE", within_ms=50)
    story.value(story.everybody(), "state.reduce", "ticket", 0)
    ends(story)


def ends(story):
    story.status(story.everybody(), "free", "OK", within_ms=AT_ONCE_MS)
    story.status(story.everybody(), "twice", "HANDLE")
    story.status(story.everybody(), "null", "OK")


def free_early(story):
    story.status(story.everybody(), "init", "OK")
    story.good(story.everybody(), "good")
    story.status(story.everybody(), "finalize", "OK")
    ends(story)


def free_after_finalize(story):
    story.good(story.everybody(), "good")
    story.status(story.everybody(), "MPI_Finalize", "OK")
    for rank in story.everybody():
        for call in story.calls(rank, "closed."):
            story.expect(call["status"].startswith("TOKAVG_ERR_"), rank, call, "works without MPI")
            story.expect(call["ms"] <= AT_ONCE_MS, rank, call, "hangs")
            story.expect(call.get("text"), rank, call, "has no text")
    ends(story)


VERDICTS = {"init_missing": init_missing, "init_unreachable": init_unreachable, "reduce_missing": reduce_missing,
            "reduce_killed": reduce_killed, "ring_late": ring_late, "ring_missing": ring_missing, "extra_reduce": desync,
            "extra_flush": desync, "other_divisor": desync,
            "desync_and_failure": desync, "local_failures": local_failures,
            "config_mismatch": config_mismatch, "abort_while_waiting": abort_while_waiting,
            "two_contexts": several_contexts, "overlapping_groups": several_contexts, "finalize_sends": finalize_sends,
            "free_early": free_early, "free_after_finalize": free_after_finalize}


def judge(story):
    """The faults, empty when all is as it should be."""
    absent = [story.victim] if story.scenario == "reduce_killed" else []
    for rank in story.everybody():
        if rank not in story.results and rank not in absent:
            story.faults.append(f"rank {rank} left no result")
    if not story.faults:
        VERDICTS[story.scenario](story)
    return story.faults
