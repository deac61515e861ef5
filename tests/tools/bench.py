# SPDX-License-Identifier: Apache-2.0
"""bench.py TOOL RANKS LAUNCHER...: the bench runs and says what it promises. Nothing here depends on the times."""
import math
import sys

from support import expect, run, run_json

KEYS = {"ranks", "steps", "forward_ms", "backward_ms", "jitter", "aa_fraction"}
MODES = {"off", "blocking", "iallreduce", "tokavg_pre", "tokavg_post"}
CALLS = {"count_add_reduce_us", "iallreduce_start_us"}
SHORT = ["--quiet", "--steps", 3, "--forward-ms", 1, "--backward-ms", 2, "--calls", 20]


def check_report(command, ranks):
    out = run_json([*command, "--aa-limit", 1000])
    expect(KEYS <= set(out), f"keys are missing: {KEYS - set(out)}")
    expect(out["ranks"] == ranks and out["steps"] == 3, f"ran {out['ranks']} ranks and {out['steps']} steps")
    expect(set(out["modes"]) == MODES, f"modes are {sorted(out['modes'])}")
    for name, mode in out["modes"].items():
        expect(math.isfinite(mode["exposed_fraction"]), f"{name}: exposed_fraction is {mode['exposed_fraction']}")
        expect(mode["wait_seconds_worst"] >= 0, f"{name}: wait_seconds_worst is {mode['wait_seconds_worst']}")
    expect(out["modes"]["off"]["exposed_fraction"] == 0, "off is compared with something else than itself")
    expect(set(out["calls"]) == CALLS and min(out["calls"].values()) > 0, f"calls are {out['calls']}")


def check_refusal(command):
    out = run_json([*command, "--aa-limit", 0], code=3)
    expect(out["refused"] is True and "modes" not in out and "calls" not in out, f"a refused run reports: {out}")
    done = run([*command, "--aa-limit", 0], code=3)
    expect("no report" in done.stderr, f"a refused run says: {done.stderr}")


if __name__ == "__main__":
    tool, ranks, *launcher = sys.argv[1:]
    command = [*launcher, tool, "bench", *SHORT]
    check_report(command, int(ranks))
    check_refusal(command)
