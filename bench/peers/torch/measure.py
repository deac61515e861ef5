#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py: torch's cross entropy and tokavg's in one process, taking turns on the same memory.

Writes a list of results and notes as JSON. The environment (allocator, huge pages) is the caller's: see ../run.
"""

import argparse
import json
import os
import statistics
import time
import warnings

import torch
import variants
from tokavg_c import Tokavg

GRADIENT_RANKS = 4


def timed(call):
    start = time.perf_counter_ns()
    answer = call()
    return time.perf_counter_ns() - start, answer


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.results = []
        self.notes = []
        self.tokavg = Tokavg(arguments.library, GRADIENT_RANKS)

    def shapes(self):
        # 32 Mi logits: beyond every cache. --quick: half as many, of the smaller vocabulary alone.
        sizes = [(512, 32000)] if self.arguments.quick else [(1024, 32000), (256, 128256)]
        for dtype in (torch.float32, torch.bfloat16):
            for rows, vocab in sizes:
                yield dtype, rows, vocab

    def checked(self, batch, exact, kinds, train):
        """The variants, each called once and its answer checked; a compiled one that cannot be made is left out."""
        kept = []
        for kind in kinds:
            try:
                variant = kind(batch)
                batch.restore()
                loss, gradient = variant.call(train)
                tolerances = variant.loss_tolerance, variant.gradient_tolerance
                variants.check(batch, variant.name, loss, exact, gradient, *tolerances)
                kept.append(variant)
            except RuntimeError as error:
                if not kind.compiled or isinstance(error, variants.Disagreement):
                    raise
                self.notes.append(f"torch: skipped {kind.name}: {str(error).splitlines()[0]}")
        return kept

    def take_turns(self, batch, exact, kinds, train, tokavg):
        """[(ns per element, variant)], the fastest first, and tokavg's ns: medians over rounds of one turn each."""
        contestants = self.checked(batch, exact, kinds, train)
        ours, theirs = [], [[] for _ in contestants]
        begin = time.monotonic()
        least, most, budget_s = (3, 5, 1.0) if self.arguments.quick else (5, 15, 3.0)
        while len(ours) < least or (len(ours) < most and time.monotonic() - begin < budget_s):
            batch.restore()
            elapsed, loss = timed(lambda: tokavg.step(batch.logits, batch.labels, batch.losses, train))
            if not ours:
                gradient = batch.logits if train else None
                variants.check(batch, "tokavg", loss, exact, gradient, 1e-4, 1e-2 if batch.bf16 else 1e-4)
            ours.append(elapsed)
            for variant, times in zip(contestants, theirs):
                batch.restore()
                elapsed, answer = timed(lambda: variant.call(train))
                del answer
                times.append(elapsed)
        n = batch.logits.numel()
        medians = [(statistics.median(times) / n, variant) for times, variant in zip(theirs, contestants)]
        return sorted(medians, key=lambda pair: pair[0]), statistics.median(ours) / n

    def record(self, batch, peer, medians, ours, train, environment=None):
        """The fastest of them is the peer."""
        if not medians:
            return
        ns, variant = medians[0]
        direction = "forward+backward" if train else "forward"
        print(f"peers:   {batch.dtype_name} {batch.vocab} {direction}: {peer}, {variant.name}", flush=True)
        self.results.append(
            {
                "peer": peer,
                "dtype": batch.dtype_name,
                "vocab": batch.vocab,
                "pass": direction,
                "ns_per_element": round(ns, 4),
                "tokavg_ns_per_element": round(ours, 4),
                "config": f"{variant.name}; {environment or self.arguments.config}",
            }
        )

    def best(self, batch, exact, train):
        kinds = [kind for kind in variants.VARIANTS if self.arguments.compile or not kind.compiled]
        kinds = [kind for kind in kinds if kind.suits(batch, train)]
        medians, ours = self.take_turns(batch, exact, kinds, train, self.tokavg)
        best = [pair for pair in medians if not pair[1].formula]
        eager = [pair for pair in best if not pair[1].compiled]
        self.record(batch, "torch-best", best, ours, train)
        self.record(batch, "torch-eager", eager, ours, train)
        self.record(batch, "torch-formula", [pair for pair in medians if pair[1].formula], ours, train)

    def default(self, batch, exact, train):
        kinds = [kind for kind in (variants.CrossEntropy, variants.CrossEntropyFloat) if kind.suits(batch, train)]
        medians, ours = self.take_turns(batch, exact, kinds, train, self.tokavg)
        for pair in medians:
            peer = "torch-default-float" if pair[1].floats else "torch-default"
            self.record(batch, peer, [pair], ours, train)

    def all_threads(self, batch, exact, train):
        """Out of the box torch takes every core; then tokavg gets as many."""
        threads = os.cpu_count()
        torch.set_num_threads(threads)
        tokavg = Tokavg(self.arguments.library, GRADIENT_RANKS, threads)
        medians, ours = self.take_turns(batch, exact, [variants.CrossEntropy], train, tokavg)
        self.record(batch, "torch-default-all-threads", medians, ours, train, f"out of the box, {threads} threads each")
        torch.set_num_threads(1)

    def run(self):
        torch.set_num_threads(1)
        if self.arguments.role == "best":
            measures = [self.best]
        else:
            measures = [self.default] if self.arguments.quick else [self.default, self.all_threads]
        for dtype, rows, vocab in self.shapes():
            batch = variants.Batch(dtype, rows, vocab, GRADIENT_RANKS)
            exact = variants.exact_loss(batch)
            for measure in measures:
                for train in (False, True):
                    measure(batch, exact, train)
            if self.arguments.compile:
                torch._dynamo.reset()  # the next shape would meet the limit of recompilations


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--role", choices=["best", "default"], required=True)
    parser.add_argument("--config", required=True, help="what the environment is, for the report")
    parser.add_argument("--compile", action="store_true", help="try torch.compile too")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    bench = Bench(arguments)
    bench.run()
    versions = {
        "torch": torch.__version__,
        "torch cpu capability": torch.backends.cpu.get_cpu_capability(),
        "tokavg": bench.tokavg.version(),
    }
    with open(arguments.out, "w", encoding="utf-8") as out:
        json.dump({"results": bench.results, "notes": bench.notes, "versions": versions}, out, indent=1)


main()
