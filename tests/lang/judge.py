# SPDX-License-Identifier: Apache-2.0
"""Compares what drivers wrote (README.md, OUT) with the expectations of the cases, by bits."""
import math
import struct

from cases import STATUS, bits, expectations, has_losses, number

NONFINITE, LOSS_READY = 8, 1  # tokavg_result_t.flags
QUIET_NAN = "7ff8000000000000"


def double(hexadecimal):
    return struct.unpack(">d", bytes.fromhex(hexadecimal))[0]


def expected_bits(value):
    return QUIET_NAN if math.isnan(number(value)) else bits(value)


def ulp_of_float(value):
    size = struct.unpack(">f", struct.pack(">f", abs(value)))[0]
    as_int = struct.unpack(">I", struct.pack(">f", size))[0]
    return struct.unpack(">f", struct.pack(">I", as_int + 1))[0] - size


def close(expected, got, is_float):
    """Within 4 units in the last place of the losses' type."""
    if math.isnan(expected) and math.isnan(got):
        return True
    if not math.isfinite(expected):
        return expected == got
    return abs(expected - got) <= 4 * (ulp_of_float(expected) if is_float else math.ulp(expected))


def parse(path):
    """{(case, mode, rank): [step]}; a step is {"status", "terms", "end"}."""
    runs, steps, faults = {}, None, []
    for line in open(path, errors="replace"):
        word, *rest = line.rstrip("\n").split(" ")
        if word == "case":
            steps = runs.setdefault((rest[0], rest[1], int(rest[3])), [])
        elif word == "step":
            steps.append({"status": int(rest[2]), "terms": [], "end": None})
        elif word == "term":
            steps[-1]["terms"].append(rest[1:])
        elif word == "end":
            steps[-1]["end"] = rest
        elif word == "fault":
            faults.append(line.strip())
        else:
            faults.append(f"what is this? {line.strip()}")
    return runs, faults


class Judge:
    def __init__(self, case, mode, rank):
        self.case, self.mode, self.rank, self.faults = case, mode, rank, []

    def expect(self, where, field, expected, got):
        if expected != got:
            self.faults.append(f"{self.case['id']} {self.mode} rank {self.rank} {where}: {field} is {got}, not {expected}")

    def near(self, where, field, expected, got, is_float):
        if not close(expected, got, is_float):
            self.faults.append(
                f"{self.case['id']} {self.mode} rank {self.rank} {where}: {field} is {got!r}, not {expected!r}")

    def judge(self, got_steps):
        self.expect("", "the number of steps", len(self.case["steps"]), len(got_steps))
        for i, (step, got) in enumerate(zip(self.case["steps"], got_steps)):
            self.judge_step(f"step {i}", step, got)
        return self.faults

    def judge_step(self, where, step, got):
        expect, index = expectations(step)[self.rank]
        self.expect(where, "status", STATUS[expect["status"]], got["status"])
        if got["status"] < 0 or STATUS[expect["status"]] < 0:
            return
        self.expect(where, "the number of terms", len(expect["tokens"]), len(got["terms"]))
        for term, words in enumerate(got["terms"]):
            self.judge_term(f"{where} term {term}", step, expect, index, term, words)
        flags = NONFINITE if any(expect["nonfinite"]) else 0
        seen = int(got["end"][6])
        if has_losses(step):
            flags |= LOSS_READY
        else:
            seen &= ~LOSS_READY  # nothing was said about losses that nobody recorded
        alone = step["expect"]["status"] == "SELF"
        wanted = [str(expect["microbatches"]), expected_bits(expect["microbatch_factor"]), str(expect["empty_ranks"]),
                  str(expect["done_ranks"]), "0", str(1 if alone else len(step["ranks"])), str(flags)]
        self.expect(where, "the end", wanted, got["end"][:6] + [str(seen)])

    def judge_term(self, where, step, expect, index, term, words):
        tokens, nonfinite, loss_tokens, weight_sum, result_factor, factor, report, mean, backward, total, wide, narrow = words
        self.expect(where, "tokens", str(expect["tokens"][term]), tokens)
        self.expect(where, "nonfinite", str(expect["nonfinite"][term]), nonfinite)
        if has_losses(step):
            self.expect(where, "loss_tokens", str(expect["tokens"][term]), loss_tokens)
        self.expect(where, "weight_sum", expected_bits(expect["weight_sum"][term]), weight_sum)
        self.expect(where, "the factor of the result", expected_bits(expect["factor"][term]), result_factor)
        self.expect(where, "the factor", expected_bits(expect["factor"][term]), factor)
        self.expect(where, "mean_loss", expected_bits(expect["mean_loss"][term]), mean)
        weights = self.case["config"].get("divisor") == "weights"
        divisor = number(expect["weight_sum"][term]) if weights else float(expect["tokens"][term])
        self.expect(where, "the reporting factor", bits(1 / divisor if divisor != 0 else 0), report)
        f = number(expect["factor"][term])
        calls = step["ranks"][self.rank]["micro"]
        is_float = any(call["term"] == term and call["loss_dtype"] == "f32" for call in calls)
        wanted = number(expect["backward"][index][term])

        def scaled(value):
            return value * f if f != 0 else 0.0  # zero wins over NaN

        got = double(backward) if self.mode == "before" else scaled(double(backward))
        self.near(where, "backward", wanted, got, is_float)
        self.near(where, "sum_out * factor", wanted, scaled(double(total)), False)
        if self.mode == "after":
            self.expect(where, "the scaled double", bits(3 * f), wide)
            self.near(where, "the scaled float", 3 * f, double(narrow), True)


def judge(cases, paths, ranks):
    """The faults of all ranks, and how many runs there were. ranks None: every case on contexts of its own."""
    faults, count = [], 0
    for world_rank, path in enumerate(paths):
        try:
            runs, more = parse(path)
        except OSError as error:
            faults.append(str(error))
            continue
        faults += more
        for case in cases:
            size = len(case["steps"][0]["ranks"])
            alone = case["config"].get("comm") == "self"
            if ranks is None:
                mine = range(size) if size == 1 or alone else []
            else:
                mine = [world_rank] if size <= ranks and world_rank < size else []
            for rank in mine:
                for mode in ("before", "after"):
                    got = runs.pop((case["id"], mode, rank), None)
                    count += 1
                    if got is None:
                        faults.append(f"{path}: {case['id']} {mode} rank {rank} is missing")
                    else:
                        faults += Judge(case, mode, rank).judge(got)
        faults += [f"{path}: {run} was not asked for" for run in runs]
    return faults, count
