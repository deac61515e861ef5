# SPDX-License-Identifier: Apache-2.0
"""The goals, as one table. A goal is met when all its checks are."""
import dataclasses
import typing

from .results import NoData, Results

VOCABULARIES = (32000, 128256)
DTYPES = ("f32", "bf16", "f16")
COUNT_SIZES = {"512KiB": 0.90, "8MiB": 0.90, "256MiB": 0.95}  # in the caches, and out of them
EXP_LIMITS = {"avx512": 1.35, "avx2": 1.6}
GROWN = [2**power for power in range(15, 19)]  # 32k to 256k


@dataclasses.dataclass(frozen=True)
class Check:
    goal: str
    what: str
    value: typing.Callable[[Results], float]
    limit: float
    at_least: bool  # else at most
    unit: str = ""


def at_least(goal, what, limit, value, unit=""):
    return Check(goal, what, value, limit, True, unit)


def at_most(goal, what, limit, value, unit=""):
    return Check(goal, what, value, limit, False, unit)


def share(simd, kernel, yardstick):
    """The speed of a kernel as a share of that of its yardstick, byte for byte."""
    return lambda r: r.ns_per_byte(simd, yardstick) / r.ns_per_byte(simd, kernel)


def per_element(simd, kernel, yardstick):
    """The time of a kernel over that of its yardstick, element for element."""
    return lambda r: r.ns_per_element(simd, kernel) / r.ns_per_element(simd, yardstick)


def ns_each(simd, kernel):
    return lambda r: r.ns_per_element(simd, kernel)


def ns(kernel):
    return lambda r: r.ns(r.best_simd("kernels"), kernel)


def worst(simd, name):
    return lambda r: r.worst(simd, name)


def grown(run):
    names = [f"vocabulary/{run}/f32/{vocab}" for vocab in GROWN]
    return lambda r: r.spread(r.best_simd("growth"), "growth", names)


def faster(peer, dtype, run):
    return lambda r: r.times_faster(peer, dtype, run)


def two_threads(r):
    simd = r.best_simd("kernels")
    one, two = (r.ns(simd, f"threads/forward/f32/{threads}") for threads in (1, 2))
    if r.merged["machine"]["cores"] < 2:
        raise NoData("this machine has one core")
    return one / two


def exposed(mode, ranks):
    return lambda r: 100 * r.reduction(ranks)["modes"][mode]["exposed_fraction"]


def waiting(mode, ranks):
    """Of the time that blocking waits, in the same run."""
    def value(r):
        modes = r.reduction(ranks)["modes"]
        if not modes["blocking"]["wait_seconds_worst"] > 0:
            raise NoData("blocking did not wait")
        return modes[mode]["wait_seconds_worst"] / modes["blocking"]["wait_seconds_worst"]
    return value


def call_cost(r):
    calls = r.reduction(2)["calls"]
    # One rank a core is part of the goal.
    if r.merged["machine"]["cores"] < 2:
        raise NoData("2 ranks need 2 cores")
    return calls["count_add_reduce_us"] - calls["iallreduce_start_us"]


CHECKS = [
    *[at_least("G1", f"{simd}: count of {dtype}, {size} / read", limit,
               share(simd, f"count/count/{dtype}/{size}", f"count/read/{dtype}/{size}"))
      for simd in EXP_LIMITS for dtype in ("i32", "i64") for size, limit in COUNT_SIZES.items()],

    *[at_most("G2", f"{simd}: forward {dtype}, V = {vocab}: time / bare exp", limit,
              per_element(simd, f"cross_entropy/forward/{dtype}/{vocab}", f"cross_entropy/exp/{dtype}/2048"))
      for simd, limit in EXP_LIMITS.items() for dtype in DTYPES for vocab in VOCABULARIES],
    *[at_least("G2", f"avx512: forward f32, V = {vocab} / read", 0.70,
               share("avx512", f"cross_entropy/forward/f32/{vocab}", f"cross_entropy/read/f32/{vocab}"))
      for vocab in VOCABULARIES],

    *[at_least("G3", f"avx512: forward+gradient {dtype}, V = {vocab} / read+write", limit,
               share("avx512", f"cross_entropy/gradient/{dtype}/{vocab}", f"cross_entropy/read_write/{dtype}/{vocab}"))
      for dtype, limit in (("f32", 0.50), ("bf16", 0.18)) for vocab in VOCABULARIES],

    *[at_least("G4", f"{run} {dtype}: times as fast as torch's best", limit, faster("torch-best", dtype, run))
      for run, dtype, limit in (("forward", "f32", 3), ("forward+backward", "f32", 4.5),
                                ("forward", "bf16", 2.5), ("forward+backward", "bf16", 3))],
    *[at_least("G4", f"{run} {dtype}: times as fast as torch out of the box", 7, faster("torch-default", dtype, run))
      for run in ("forward", "forward+backward") for dtype in ("f32", "bf16")],

    *[at_most("G5", f"{run} f32: slowest / fastest element, V = 32k to 256k", 1.15, grown(run))
      for run in ("forward", "gradient")],
    at_least("G5", "forward f32: 2 threads, times 1 thread", 1.6, two_threads),

    *[at_most("G6", f"{simd}: worst relative error of a loss, {dtype}", 2e-7, worst(simd, f"accuracy/loss/{dtype}/5000"))
      for simd in EXP_LIMITS for dtype in ("f32", "bf16")],
    *[at_most("G6", f"{simd}: worst relative error at the true class, bf16", 4e-3, worst(simd, "accuracy/gradient/bf16/5000"))
      for simd in EXP_LIMITS],

    # That the bits do not depend on ranks and partition is for the contract tests.
    *[at_most("G7", f"{simd}: loss with 64-bit label, fixed point", 0.5, ns_each(simd, "loss/loss/f32/65536"), "ns")
      for simd in EXP_LIMITS],

    at_most("G8", "exposed share of a step, 16 ranks, scaled before backward", 1.0, exposed("tokavg_pre", 16), "%"),
    at_most("G8", "exposed share of a step, 16 ranks, scaled after", 1.0, exposed("tokavg_post", 16), "%"),
    at_most("G8", "waiting / that of blocking, 16 ranks, before backward", 0.1, waiting("tokavg_pre", 16)),
    at_most("G8", "waiting / that of blocking, 16 ranks, after", 0.1, waiting("tokavg_post", 16)),

    at_most("G9", "count_add + reduce - start of MPI_Iallreduce, 2 ranks", 10, call_cost, "us"),

    at_most("tiny", "count of 64 labels", 50, ns("tiny/count/i64/64"), "ns"),
    at_most("tiny", "losses of one row of 256 tokens", 1000, ns("tiny/loss/f32/256"), "ns"),
    at_most("tiny", "cross entropy of one row, V = 256", 1000, ns("tiny/cross_entropy/f32/256"), "ns"),
]

# Equal benchmarks under two names. What they differ by is noise, and so is as much of every other ratio.
TWINS = [
    *[(f"count/count/i64/{size}", f"count/count_again/i64/{size}") for size in COUNT_SIZES],
    *[(f"cross_entropy/forward/{dtype}/32000", f"cross_entropy/forward_again/{dtype}/32000") for dtype in DTYPES],
]


def evaluate(results, checks=tuple(CHECKS)):
    """Each check as a dictionary: with a value and a verdict, or with a reason why there is none."""
    rows = []
    for check in checks:
        row = {"goal": check.goal, "what": check.what, "limit": check.limit, "at_least": check.at_least, "unit": check.unit}
        try:
            value = check.value(results)
            ratio = value / check.limit
            row |= {"value": value, "ratio": ratio, "met": ratio >= 1 if check.at_least else ratio <= 1}
        except NoData as why:
            row |= {"value": None, "ratio": None, "met": None, "why": str(why)}
        rows.append(row)
    return rows


def noise(results):
    """How far the twins are apart, as a share, by target and name."""
    found = {}
    for simd in results.merged["kernels"]:
        for name, again in TWINS:
            try:
                found[f"{simd}: {name}"] = results.ns(simd, again) / results.ns(simd, name) - 1
            except NoData:
                continue
    return found


def verdicts(rows):
    """By goal, one word or two and how many checks say so."""
    summary = {}
    for goal in dict.fromkeys(row["goal"] for row in rows):
        met = [row["met"] for row in rows if row["goal"] == goal]
        measured = [one for one in met if one is not None]
        if not measured:
            word = "no data"
        elif not all(measured):
            word = "NOT MET"
        else:
            word = "met" if len(measured) == len(met) else "met as far as measured"
        summary[goal] = f"{word} ({sum(measured)} of {len(met)} checks)" if measured else word
    return summary
