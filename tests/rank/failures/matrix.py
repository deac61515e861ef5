# SPDX-License-Identifier: Apache-2.0
"""matrix.py [CTEST BUILD_DIR]

Which test shows what happens when a rank is at fault in a phase. Prints the table; with arguments it also fails where a test
that it names is not registered. The names are those of ctest, * stands for anything.
"""
import fnmatch
import subprocess
import sys

PHASES = ("init", "count", "reducing", "waiting", "finalizing")
OWN_PHASES = ("init", "count", "reducing", "finalizing")
SAME_AS_REDUCING = "-: to be late for a wait is to be late after the reduce"


def of_process(fault):
    return {phase: [f"rank.{fault}.{phase}.multiple.openmpi.*"] for phase in PHASES}


def of_rank(fault):
    row = {phase: [f"threads.{fault}.{phase}.*", f"rank.{fault}.{phase}.*"] for phase in OWN_PHASES}
    return {**row, "waiting": SAME_AS_REDUCING}


# Over NCCL, which names nobody, a choice of these; under MPICH, with two ranks, the ones that hit hardest.
ALSO = {("killed", phase): [f"rank.killed.{phase}.multiple.mpich.*", f"rank.nccl.killed.{phase}.*"] for phase in PHASES}
ALSO |= {("left", "count"): ["rank.left.count.*.mpich.*", "rank.nccl.left.count.*"],
         ("left", "finalizing"): ["rank.left.finalizing.*.mpich.*"],
         ("stopped", "count"): ["rank.stopped.count.*.mpich.*", "rank.nccl.stopped.count.*", "rank.plugin-stop-*"],
         ("stopped", "finalizing"): ["rank.stopped.finalizing.*.mpich.*"],
         ("late", "init"): ["nccl.late.init.*", "rank.plugin-init-late.*"],
         ("late", "count"): ["nccl.late.count.*", "*.reduce_missing.*", "rank.plugin-late-*"],
         ("late", "finalizing"): ["nccl.late.finalizing.*"],
         ("slow", "init"): ["nccl.slow.init.*"],
         ("slow", "count"): ["*.ring_late.*"],
         ("slow", "finalizing"): ["nccl.slow.finalizing.*"],
         ("absent", "init"): ["*.init_missing.*", "*.init_unreachable.*"],
         ("absent", "reducing"): ["nccl.absent.reducing.*", "*.ring_missing.*", "rank.absent.reducing.plain.*"],
         ("killed", "count"): ["rank.killed.count.multiple.mpich.*", "rank.nccl.killed.count.*", "*.reduce_killed.*",
                               "rank.killed.count.plain.*", "rank.plugin-kill-*"]}

ROWS = {
    "killed (SIGKILL)": of_process("killed"),
    "leaves by exit()": of_process("left"),
    "stopped, continued after the deadline": of_process("stopped"),
    "stopped, continued before it": of_process("paused"),
    "late by more than the deadline": of_rank("late"),
    "late by less": of_rank("slow"),
    "never calls": of_rank("absent"),
    "calls once too often": {"init": ["*.extra_init.*"], "count": ["*.extra_flush.*"], "reducing": ["*.extra_reduce.*"],
                             "waiting": ["*.other_calls.*"], "finalizing": ["*.other_calls.*"]},
    "calls in another order": {"init": ["*.other_calls.*"], "count": ["*.other_calls.*"], "reducing": ["*.other_calls.*"],
                               "waiting": ["*.other_calls.*"], "finalizing": ["*.other_calls.*"]},
    "another config": {"init": ["*.config_mismatch.*"], "count": ["*.other_divisor.*"], "reducing": "-: takes none",
                       "waiting": "-: takes none", "finalizing": "-: takes none"},
    "another ABI or wire version": {"init": ["rank.other_abi.*", "rank.other_wire.*"],
                                    **{phase: "-: init refuses it" for phase in PHASES[1:]}},
    "fails locally": {"init": ["*.config_mismatch.*"], "count": ["*.local_failures.*"], "reducing": ["*.local_failures.*"],
                      "waiting": ["*.other_calls.*"], "finalizing": ["*.other_calls.*"]},
    "an allocation fails": {"init": ["*.memory_init.*"], **{phase: ["*.memory_failures.*"] for phase in PHASES[1:]}},
}
FAULT_OF_ROW = dict(zip(ROWS, ("killed", "left", "stopped", "paused", "late", "slow", "absent")))


def cell(row, phase):
    """Patterns of tests, or why there are none."""
    tests = ROWS[row][phase]
    return tests if isinstance(tests, str) else tests + ALSO.get((FAULT_OF_ROW.get(row), phase), [])


def main():
    registered = None
    if len(sys.argv) == 3:
        listing = subprocess.run([sys.argv[1], "--test-dir", sys.argv[2], "-N"], capture_output=True, text=True, check=True)
        registered = [line.split(": ", 1)[1].strip() for line in listing.stdout.splitlines() if ": " in line and "#" in line]
    missing = 0
    for row in ROWS:
        print(row)
        for phase in PHASES:
            tests = cell(row, phase)
            if isinstance(tests, str):
                print(f"  {phase:<11}{tests}")
                continue
            print(f"  {phase:<11}{' '.join(tests)}")
            # Without the emulator, or under a sanitizer, some are not built.
            needed = [t for t in tests if "nccl" not in t and "other_" not in t]
            for test in needed if registered is not None else []:
                if not fnmatch.filter(registered, test):
                    print(f"  {'':<11}there is no {test}")
                    missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
