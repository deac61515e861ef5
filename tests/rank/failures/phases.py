# SPDX-License-Identifier: Apache-2.0
"""FAULT.PHASE: what phases.cpp must leave behind."""
from story import AT_ONCE_MS

# Where the others wait for the rank to which it happens; after its reduce, without a progress thread, already in the step.
WAITS_IN = {"init": ["init"], "count": ["step"], "reducing": ["step", "finalize"], "finalizing": ["finalize"]}
HITS_PROCESS = ("killed", "left", "stopped", "paused")


def fault_in_phase(story):
    fault, phase = story.scenario.split(".")
    if story.victim not in story.struck:
        story.faults.append(f"rank {story.victim} was not {fault}")
    if fault == "left" and story.victim not in story.left:
        story.faults.append(f"rank {story.victim}: exit() did not go through")
    if fault in ("slow", "paused"):
        nothing_happens(story, fault, phase)
    elif phase == "init":
        story.timeout(story.others(), "init", names_victim=False)
        if fault == "late":
            story.status([story.victim], "init", "TIMEOUT", within_ms=story.in_time_ms)
    else:
        others_give_up(story, fault, phase)
    story.status(story.others(), "free", "OK", within_ms=AT_ONCE_MS)


def nothing_happens(story, fault, phase):
    for tag in ("init", "good", "count", "reduce", "step", "finalize", "after.factor"):
        story.good(story.everybody(), tag)
    story.status(story.everybody(), "after.loss", "STATE")
    story.status(story.everybody(), "after.reduce", "STATE")
    if fault == "slow":
        waited = max(call["ms"] for rank in story.others() for tag in WAITS_IN[phase] for call in story.calls(rank, tag))
        if waited < story.deadline_ms / 4:
            story.faults.append(f"nobody waited for rank {story.victim}")


def others_give_up(story, fault, phase):
    for tag in ("init", "good", "count", "reduce"):
        story.good(story.others(), tag)
    # Whatever a rank sent before it was hit may arrive, on some ranks or on all of them.
    inside = fault in HITS_PROCESS
    may_succeed = {"count": [], "reducing": ["step"], "waiting": ["step"],
                   "finalizing": ["step", "finalize"] if inside else ["step"]}[phase]
    noticed = []
    for rank in story.others():
        failed = False
        for tag in ("step", "finalize"):
            for call in story.calls(rank, tag):
                if failed:
                    again(story, rank, call)
                elif call["status"] == "TOKAVG_OK" and tag in may_succeed:
                    story.good([rank], tag)
                else:
                    failed = True
                    noticed.append((rank, call))
        for call in story.calls(rank, "after."):
            again(story, rank, call) if failed else None
        if failed:
            story.value([rank], "after.reduce", "ticket", 0)
    story.gave_up(noticed)
    if fault in ("late", "stopped"):
        comes_back(story, inside, phase)


def again(story, rank, call):
    """The first error, at once."""
    story.expect(call["status"] == "TOKAVG_ERR_TIMEOUT", rank, call, "not TIMEOUT again")
    story.expect(call["ms"] <= 50, rank, call, "not at once")


def comes_back(story, inside, phase):
    """To what the others gave up: it must not take an old sum for a new one, nor wait for ever."""
    me = [story.victim]
    stopped_ms = 2 * story.deadline_ms + 300 if inside else 0
    # NCCL tells nobody that others have given up: what they sent before may still be summed.
    ends_well = (inside or not story.names_ranks) and phase == "finalizing"
    for tag in ("step", "finalize"):
        accepted = ["TIMEOUT"] if tag == "finalize" and not ends_well else ["OK", "TIMEOUT"]
        story.status(me, tag, *accepted, within_ms=story.in_time_ms + stopped_ms)
        for call in story.calls(story.victim, tag):
            if call["status"] == "TOKAVG_OK":
                story.good(me, tag)
    story.status(me, "free", "OK", within_ms=AT_ONCE_MS)
