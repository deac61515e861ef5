# SPDX-License-Identifier: Apache-2.0
"""contract.jsonl in memory, and as the text that README.md describes."""
import json
import struct

DTYPES = {"i32": 1, "i64": 2, "f32": 4, "f64": 5}
STATUS = {"OK": 0, "EMPTY": 2, "COPIES": -8}
REDUCTIONS = {"mean": 1, "sum": 2}
DIVISORS = {"tokens": 0, "weights": 1}
CONFIG = {"gradient_reduction", "gradient_ranks", "label_copies", "microbatch_shards", "divisor", "terms", "ignore_index",
          "accumulation_divisor", "comm"}


def number(value):
    return float(value)  # also of "nan" and "inf"


def bits(value):
    return struct.pack(">d", number(value)).hex()


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def is_self(case):
    return case["config"].get("comm") == "self"


def has_losses(step):
    return any(call["losses"] is not None for rank in step["ranks"] for call in rank["micro"])


def expectations(step):
    """What each rank of the step expects, and its index in that expectation's lists of ranks."""
    expect = step["expect"]
    if expect["status"] == "SELF":
        return [(own, 0) for own in expect["per_rank"]]
    return [(expect, rank) for rank in range(len(step["ranks"]))]


def flat(rows):
    return [value for row in rows for value in row]


def call_lines(call):
    rows = call["labels"]
    present = {kind: DTYPES[call[dtype]] if call[kind] is not None else 0
               for kind, dtype in (("losses", "loss_dtype"), ("weights", "weights_dtype"))}
    yield (f"call rows {len(rows)} cols {len(rows[0]) if rows else 0} shift {call['shift']} term {call['term']} "
           f"labels {DTYPES[call['dtype']]} losses {present['losses']} weights {present['weights']} "
           f"mask {int(call['mask'] is not None)} same {int(call['same'])} discard {int(call['discard'])}")
    yield " ".join(map(str, flat(rows)))
    for kind in ("losses", "weights"):
        if call[kind] is not None:
            yield " ".join(map(bits, flat(call[kind])))
    if call["mask"] is not None:
        yield " ".join(str(int(value)) for value in flat(call["mask"]))


def case_lines(case):
    config = case["config"]
    unknown = set(config) - CONFIG
    assert not unknown, f"{case['id']}: unknown fields of config: {unknown}"
    yield f"case {case['id']} ranks {len(case['steps'][0]['ranks'])} self {int(is_self(case))} steps {len(case['steps'])}"
    yield (f"config {REDUCTIONS[config['gradient_reduction']]} {config.get('gradient_ranks', 0)} "
           f"{config.get('label_copies', 0)} {config.get('microbatch_shards', 0)} "
           f"{DIVISORS[config.get('divisor', 'tokens')]} {config.get('terms', 0)} {config.get('ignore_index', -100)} "
           f"{bits(config.get('accumulation_divisor', 0))}")
    for step in case["steps"]:
        error = any(STATUS[expect["status"]] < 0 for expect, _ in expectations(step))
        yield f"step error {int(error)} losses {int(has_losses(step))}"
        for i, rank in enumerate(step["ranks"]):
            yield f"rank {i} calls {len(rank['micro'])} done {int(rank['done'])} asks {int(rank['asks_only'])}"
            for call in rank["micro"]:
                yield from call_lines(call)


def as_text(cases):
    lines = [f"cases {len(cases)}"]
    for case in cases:
        lines += case_lines(case)
    return "\n".join(lines) + "\n"
