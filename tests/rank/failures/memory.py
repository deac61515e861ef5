# SPDX-License-Identifier: Apache-2.0
"""What memory.cpp must leave behind: in each round one allocation of one call failed on one rank."""

# In the order of a step. What marks the step, what sends a message, and what only asks.
MARKS_OPEN = ("count", "count_add", "open_loss")
MARKS_CLOSED = ("cross_entropy", "loss", "scale")
SENDS = ("reduce", "flush", "finalize")
TOLD = ("TOKAVG_ERR_PEER", "TOKAVG_ERR_ABORTED")
# TRANSPORT: no memory for a message, without which the context cannot go on.
NO_MEMORY = ("TOKAVG_ERR_MEMORY", "TOKAVG_ERR_TRANSPORT")
FINE = ("TOKAVG_OK", "TOKAVG_PENDING")


class Round:
    """All calls of one round, by rank and name."""

    def __init__(self, story, call, number):
        self.name = call
        prefix = f"{call}.{number}."
        self.calls = {rank: {c["tag"][len(prefix):]: c for c in story.results[rank]["calls"] if c["tag"].startswith(prefix)}
                      for rank in story.everybody()}
        self.failed = next((c for c in self.calls[story.victim].values() if c["fails"]), None)

    def others(self, story):
        return [(rank, call) for rank in story.others() for call in self.calls[rank].values()]


def rounds(story, call):
    made = story.calls(story.victim, f"made.{call}")[0]["allocations"]
    return [Round(story, call, number) for number in range(1, made + 1)]


def in_time(story, one):
    for rank, calls in one.calls.items():
        for call in calls.values():
            story.expect(call["ms"] <= story.in_time_ms, rank, call, "not in time")
            story.expect(call["status"] != "TOKAVG_ERR_INTERNAL", rank, call, "a fault of tokavg")
            if call["tag"].endswith(".free"):
                story.expect(call["status"] == "TOKAVG_OK", rank, call, "was not freed")
            if call["tag"].endswith(".wait") and call["status"] == "TOKAVG_OK":
                story.expect(call["tokens"] == call["expected_tokens"], rank, call, "wrong sum")


def told(story, one, name, *statuses):
    """The others hear of it in this call at the latest, and at once."""
    for rank in story.others():
        calls = list(one.calls[rank].values())
        until = calls[:1 + next(i for i, call in enumerate(calls) if call["tag"].endswith(f".{name}"))]
        bad = [call for call in until if call["status"] not in FINE]
        story.expect(bad and bad[0]["status"] in statuses, rank, until[-1], f"not told that {one.failed['tag']} failed")
        for call in bad[:1]:
            story.expect(call["ms"] <= story.deadline_ms / 2, rank, call, "had to wait for the deadline")
            story.told_ms.append(call["ms"])


def failures(story):
    counted = {}
    for name in MARKS_OPEN + MARKS_CLOSED + SENDS + ("wait", "wait_loss", "factor", "free"):
        all_rounds = rounds(story, name)
        counted[name] = len(all_rounds)
        for one in all_rounds:
            in_time(story, one)
            story.expect(one.failed["status"] in NO_MEMORY, story.victim, one.failed, "not MEMORY")
            if name in MARKS_OPEN:
                told(story, one, "wait", "TOKAVG_ERR_PEER")
            elif name in MARKS_CLOSED:
                story.expect(one.calls[story.victim]["cross_entropy"].get("gradient_untouched", False) or name != "cross_entropy",
                             story.victim, one.failed, "wrote a gradient")
                told(story, one, "wait_loss", "TOKAVG_ERR_PEER")
            elif name in ("reduce", "wait", "flush"):
                # Without a message, or without having read one, this rank cannot go on: its context ends, which they hear.
                told(story, one, {"reduce": "wait", "wait": "finalize", "flush": "wait_loss"}[name], *TOLD)
    for name in ("reduce", "flush", "finalize", "cross_entropy"):
        if counted[name] == 0:
            story.faults.append(f"{name}: no allocation was made to fail")
    story.remarks.append("allocations that failed: " + ", ".join(f"{name} {count}" for name, count in counted.items()))
    for rank in story.everybody():
        before, after = (story.calls(rank, f"alive.{when}")[0]["alive"] for when in ("before", "after"))
        if after != before:
            story.faults.append(f"rank {rank}: {after - before} allocations were not freed")


def of_init(story):
    """Before the transport is open nobody can be told, and the deadline ends it; from then on all hear of it at once."""
    reached = False
    all_rounds = rounds(story, "init")
    for one in all_rounds:
        in_time(story, one)
        story.expect(one.failed["status"] in NO_MEMORY, story.victim, one.failed, "not MEMORY")
        bad = [next((call for call in one.calls[rank].values() if call["status"] not in FINE), None) for rank in story.others()]
        if not all(bad):
            story.faults.append(f"{one.failed['tag']}: a rank never heard of it")
            continue
        is_told = [call["status"] in TOLD for call in bad]
        story.told_ms += [call["ms"] for call in bad if call["status"] in TOLD]
        if any(is_told) != all(is_told) or (reached and not all(is_told)):
            story.faults.append(f"{one.failed['tag']}: not told to all: {[call['status'] for call in bad]}")
        reached = reached or all(is_told)
    if not reached:
        story.faults.append("nobody was ever told")
    story.remarks.append(f"{len(all_rounds)} allocations failed")
