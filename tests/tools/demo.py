# SPDX-License-Identifier: Apache-2.0
"""demo.py TEST TOOL [STEPS | RANKS LAUNCHER...]: the demo trains as one process does, whatever the ranks.

TOKAVG_TEST_MODEL holds options for a smaller model, where the build is a slow one."""
import math
import os
import sys

from support import WAYS, expect, run_json

KEYS = {"ranks", "accumulation", "microbatches", "steps", "text", "exposed_fraction", "ways"}
WAY_KEYS = {"losses", "first_loss_hex", "max_loss_difference", "max_gradient_norm_difference"}
MODEL = os.environ.get("TOKAVG_TEST_MODEL", "").split()


def check_schema(out, ranks, steps):
    expect(KEYS <= set(out), f"keys are missing: {KEYS - set(out)}")
    expect(out["ranks"] == ranks and out["steps"] == steps, f"ran {out['ranks']} ranks and {out['steps']} steps")
    expect(out["exposed_fraction"] >= 0, f"exposed_fraction is {out['exposed_fraction']}")
    expect(set(out["ways"]) == set(WAYS), f"ways are {sorted(out['ways'])}")
    for name, way in out["ways"].items():
        expect(WAY_KEYS <= set(way), f"{name}: keys are missing: {WAY_KEYS - set(way)}")
        expect(len(way["losses"]) == steps and all(map(math.isfinite, way["losses"])), f"{name}: bad losses")
        expect(float.fromhex(way["first_loss_hex"]) == way["losses"][0], f"{name}: first_loss_hex is another number")


def check_equal(out):
    for name in ("tokavg_pre", "tokavg_post"):
        for key in ("max_loss_difference", "max_gradient_norm_difference"):
            expect(out["ways"][name][key] <= 1e-12, f"{name}: {key} is {out['ways'][name][key]}")


def training(tool, steps):
    """Both tokavg ways equal one process; local means do not; the loss falls."""
    steps = int(steps)
    out = run_json([tool, "demo", "--quiet", *MODEL, "--ranks", 4, "--steps", steps])
    check_schema(out, 4, steps)
    check_equal(out)
    for key in ("max_loss_difference", "max_gradient_norm_difference"):
        expect(out["ways"]["local_mean"][key] > 1e-3, f"local_mean: {key} is {out['ways']['local_mean'][key]}")
    losses = out["ways"]["one_process"]["losses"]
    expect(losses[-1] < losses[0] - 0.5, f"the loss falls from {losses[0]} to {losses[-1]} only")


def partitions(tool):
    """The first mean loss has the same bits for every number of ranks and microbatches."""
    seen = set()
    for ranks in (1, 2, 3, 4, 6, 8):
        for accumulation, microbatches in ((4, 2), (1, 3)):
            out = run_json([tool, "demo", "--quiet", *MODEL, "--ranks", ranks, "--accumulation", accumulation,
                            "--microbatches", microbatches, "--steps", 1])
            check_schema(out, ranks, 1)
            check_equal(out)
            seen |= {out["ways"][way]["first_loss_hex"] for way in WAYS if way != "local_mean"}
    expect(len(seen) == 1, f"the first loss depends on the partition: {sorted(seen)}")


def trainers(tool):
    """Trainers that sum gradients, or do not divide by the accumulation steps."""
    for options in ([], ["--sum-gradients"], ["--undivided-accumulation"], ["--sum-gradients", "--undivided-accumulation"]):
        out = run_json([tool, "demo", "--quiet", *MODEL, "--ranks", 3, "--steps", 3, *options])
        check_schema(out, 3, 3)
        check_equal(out)


def mpi(tool, ranks, *launcher):
    """Processes of an MPI job give the same bits as threads."""
    ranks = int(ranks)
    job = run_json([*launcher, tool, "demo", "--quiet", *MODEL, "--steps", 5])
    check_schema(job, ranks, 5)
    check_equal(job)
    threads = run_json([tool, "demo", "--quiet", *MODEL, "--ranks", ranks, "--steps", 5])
    for way in WAYS:
        expect(job["ways"][way]["losses"] == threads["ways"][way]["losses"], f"{way}: MPI and threads differ")


if __name__ == "__main__":
    {"training": training, "partitions": partitions, "trainers": trainers, "mpi": mpi}[sys.argv[1]](*sys.argv[2:])
