# SPDX-License-Identifier: Apache-2.0
"""What each scenario must leave behind, rank by rank."""
import memory
import phases
from story import AT_ONCE_MS, Story  # noqa: F401 (judge.py takes Story from here)


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
    story.status([story.victim], "late", "TIMEOUT", "STATE", "ARGUMENT", within_ms=story.in_time_ms)


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


def other_library(story):
    text = "ABI version is not the same" if story.scenario == "other_abi" else "wire version"
    story.status(story.everybody(), "differs", "CONFIG", text=text, within_ms=AT_ONCE_MS)
    if story.ranks > 2:
        story.status(story.others(), "differs", "CONFIG", text=f"rank {story.victim} differs")
    story.status(story.everybody(), "free", "OK", within_ms=AT_ONCE_MS)


def other_calls(story):
    """DESYNC on every rank where the ranks differ, in that very step; where it is this rank's own matter, nothing."""
    for name in ("extra_finalizing", "order_count", "order_reducing", "order_finalizing"):
        story.good(story.everybody(), f"{name}.good")
        story.status(story.everybody(), f"{name}.differs", "DESYNC", within_ms=AT_ONCE_MS)
        story.status(story.everybody(), f"{name}.after.factor", "DESYNC", within_ms=50)
        if story.ranks > 2:
            story.status(story.others(), f"{name}.differs", "DESYNC", text=f"rank {story.victim} differs")
    for name in ("extra_waiting", "order_waiting", "failed_waiting"):
        story.good(story.everybody(), f"{name}.fine.")
        story.status(story.everybody(), f"{name}.after.factor", "OK")
    story.status([story.victim], "extra_waiting.state.finalize", "STATE", within_ms=50)
    story.status([story.victim], "failed_waiting.wrong.", "ARGUMENT", within_ms=50)
    story.good(story.everybody(), "failed_waiting.next")
    story.status(story.everybody(), "order_init.differs", "CONFIG", text="config.terms is not the same", within_ms=AT_ONCE_MS)
    story.status([story.victim], "failed_finalizing.told", "ARGUMENT", within_ms=AT_ONCE_MS)
    story.status(story.others(), "failed_finalizing.told", "PEER", text=f"rank {story.victim}", within_ms=AT_ONCE_MS)
    for rank in story.everybody():
        for call in story.results[rank]["calls"]:
            if call["tag"].endswith(".free"):
                story.expect(call["status"] == "TOKAVG_OK" and call["ms"] <= AT_ONCE_MS, rank, call, "did not free")


def extra_init(story):
    story.status([story.victim], "extra_init.alone", "TIMEOUT", within_ms=story.in_time_ms)
    story.good(story.everybody(), "extra_init.next")
    story.good(story.everybody(), "extra_init.fine.")
    story.status(story.everybody(), "extra_init.free", "OK", within_ms=AT_ONCE_MS)


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


VERDICTS = {"other_abi": other_library, "other_wire": other_library, "other_calls": other_calls, "extra_init": extra_init,
            "memory_failures": memory.failures, "memory_init": memory.of_init,
            "init_missing": init_missing, "init_unreachable": init_unreachable, "reduce_missing": reduce_missing,
            "reduce_killed": reduce_killed, "ring_late": ring_late, "ring_missing": ring_missing, "extra_reduce": desync,
            "extra_flush": desync, "other_divisor": desync,
            "desync_and_failure": desync, "local_failures": local_failures,
            "config_mismatch": config_mismatch, "abort_while_waiting": abort_while_waiting,
            "two_contexts": several_contexts, "overlapping_groups": several_contexts, "finalize_sends": finalize_sends,
            "free_early": free_early, "free_after_finalize": free_after_finalize}


def judge(story):
    """The faults, empty when all is as it should be."""
    leaves_nothing = story.scenario == "reduce_killed" or story.scenario.startswith(("killed.", "left."))
    for rank in story.everybody():
        if rank not in story.results and not (leaves_nothing and rank == story.victim):
            story.faults.append(f"rank {rank} left no result")
    if not story.faults:
        story.untouched()
        VERDICTS.get(story.scenario, phases.fault_in_phase)(story)
    return story.faults
