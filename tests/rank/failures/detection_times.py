# SPDX-License-Identifier: Apache-2.0
"""detection_times.py LOG: median and worst of what judge.py added to the file that TOKAVG_FAILURE_LOG named."""
import json
import statistics
import sys


def show(title, times_ms):
    if times_ms:
        print(f"{title}: median {statistics.median(times_ms):.1f} ms, worst {max(times_ms):.1f} ms, of {len(times_ms)} ranks")


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        entries = [json.loads(line) for line in log]
    for transport, chosen in (("MPI and threads", [e for e in entries if "nccl" not in e["program"]]),
                              ("emulated NCCL", [e for e in entries if "nccl" in e["program"]])):
        show(f"{transport}, after the deadline", [ms for e in chosen for ms in e["after_deadline_ms"]])
        show(f"{transport}, where no deadline is needed", [ms for e in chosen for ms in e["told_ms"]])
    print(f"{len(entries)} runs, {sum(1 for e in entries if e['faults'])} with faults")


if __name__ == "__main__":
    main()
