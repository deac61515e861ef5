#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peers.py --library FILE --json FILE: torch's cross entropy on a GPU, and tokavg's, taking turns on the same logits.

Forward and backward with an upstream gradient that is not 1, as world / tokens never is. Each number is the median over the
rounds. What does not fit into memory, or cannot be compiled, is left out with a note. --cpu shows on a machine without a GPU
that the script works.
"""
import argparse
import ctypes
import json
import math
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers" / "torch"))
import tokavg_c  # noqa: E402

ROWS = 8192
VOCABULARIES = (32000, 128256, 262144)
GRADIENT_RANKS = 4
CUDA = 2  # TOKAVG_DEVICE_CUDA, TOKAVG_MEMORY_CUDA
OutOfMemory = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)  # before torch 2.5


class Tokavg(tokavg_c.Tokavg):
    """Like its base, on torch's current stream."""

    def __init__(self, library, gradient_ranks):
        self._c = ctypes.CDLL(library)
        self._c.tokavg_status_name.restype = ctypes.c_char_p
        self._ctx = ctypes.c_void_p()
        config = tokavg_c.Config()
        self._call("tokavg_config_init", ctypes.byref(config), ctypes.c_uint32(ctypes.sizeof(config)))
        config.comm_kind = 1  # TOKAVG_COMM_SELF
        config.device = CUDA
        config.gradient_reduction = 1  # TOKAVG_GRADIENT_MEAN
        config.gradient_ranks = gradient_ranks
        self._call("tokavg_init", ctypes.byref(config), ctypes.byref(self._ctx))

    def step(self, logits, labels, losses, train):
        """Nothing waits, so there is no sum to return: the losses are in `losses`."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        described = tokavg_c.Labels(struct_size=ctypes.sizeof(tokavg_c.Labels), rows=1, cols=len(labels), labels=there(labels))
        entropy = tokavg_c.CrossEntropy(struct_size=ctypes.sizeof(tokavg_c.CrossEntropy), logits=there(logits),
                                        vocab=logits.shape[1], labels=ctypes.pointer(described), losses_out=there(losses))
        if train:
            entropy.gradient_out = entropy.logits
        ticket = ctypes.c_int64()
        self._call("tokavg_count", self._ctx, ctypes.byref(described), stream)
        self._call("tokavg_reduce", self._ctx, None, stream, ctypes.byref(ticket))
        self._call("tokavg_cross_entropy", self._ctx, ticket, ctypes.byref(entropy), stream)


def there(tensor):
    found = tokavg_c.array(tensor)
    found.memory = CUDA
    return found


class Batch:
    def __init__(self, rows, vocab, device):
        generator = torch.Generator(device).manual_seed(1)
        self.pristine = torch.randn(rows, vocab, generator=generator, device=device, dtype=torch.bfloat16)
        self.logits = self.pristine.clone()
        self.labels = torch.randint(0, vocab, (rows,), generator=generator, device=device)
        self.losses = torch.empty(rows, device=device)
        self.factor = torch.tensor(GRADIENT_RANKS / rows, device=device)
        few = self.pristine[:16].double()
        self.expected = torch.softmax(few, 1)
        self.expected.scatter_add_(1, self.labels[:16, None], torch.full((len(few), 1), -1.0, device=device, dtype=few.dtype))
        self.expected *= self.factor

    def check(self, gradient):
        """Raises where a gradient of the first rows is off: none is better than its 8 bits."""
        error = (gradient[:16].double() - self.expected).abs().amax(1) / self.expected.abs().amax(1)
        if not float(error.max()) <= 1e-2:
            raise ArithmeticError(f"a gradient is off by {float(error.max()):.2g} of its row's largest")


def tokavg_way(batch, tokavg):
    def call():
        tokavg.step(batch.logits, batch.labels, batch.losses, True)
        return batch.logits
    return call


def torch_way(batch, loss):
    def call():
        leaf = batch.logits.detach().requires_grad_()
        (loss(leaf, batch.labels) * batch.factor).backward()
        return leaf.grad
    return call


def eager(logits, labels):
    return F.cross_entropy(logits, labels, reduction="sum")


def floats(logits, labels):
    return F.cross_entropy(logits.float(), labels, reduction="sum")


class Clock:
    """Microseconds of one call: the GPU's, or on a CPU the wall's."""

    def __init__(self, device):
        self.cuda = device == "cuda"

    def time(self, call):
        if not self.cuda:
            begin = time.perf_counter()
            answer = call()
            return 1e6 * (time.perf_counter() - begin), answer
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(2000000)  # about 1 ms, so that no launch is timed
        begin.record()
        answer = call()
        end.record()
        end.synchronize()
        return 1e3 * begin.elapsed_time(end), answer


def checked(batch, ways, notes):
    """The ways that work, each called once."""
    kept = {}
    for name, way in ways.items():
        try:
            batch.logits.copy_(batch.pristine)
            batch.check(way())
            kept[name] = way
        except Exception as error:  # of torch.compile, it may be anything
            if name == "tokavg" or isinstance(error, ArithmeticError):
                raise
            notes.append(f"{name}, V = {batch.logits.shape[1]}: left out: {(str(error).splitlines() or [type(error).__name__])[0][:200]}")
    return kept


def take_turns(batch, ways, clock, rounds):
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            batch.logits.copy_(batch.pristine)
            us, answer = clock.time(way)
            del answer
            times[name].append(us)
    return {name: statistics.median(values) for name, values in times.items()}


def measure(rows, vocab, tokavg, clock, rounds, notes):
    batch = Batch(rows, vocab, "cuda" if clock.cuda else "cpu")
    # Each shape is compiled for itself, as a trainer has one.
    torch._dynamo.reset()
    ways = {"tokavg": tokavg_way(batch, tokavg), "torch-eager": torch_way(batch, eager), "torch-float": torch_way(batch, floats),
            "torch-compile": torch_way(batch, torch.compile(floats, dynamic=False))}
    medians = take_turns(batch, checked(batch, ways, notes), clock, rounds)
    ours = medians.pop("tokavg", math.nan)
    print(f"peers: V = {vocab}: tokavg {ours:.1f} us, " + ", ".join(f"{name} {us:.1f} us" for name, us in medians.items()), flush=True)
    return [{"peer": name, "dtype": "bf16", "vocab": vocab, "rows": rows, "us": us, "tokavg_us": ours}
            for name, us in medians.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    if not arguments.cpu and not torch.cuda.is_available():
        print(f"skipped: torch {torch.__version__} does not see the GPU")
        return 77
    clock = Clock("cpu" if arguments.cpu else "cuda")
    tokavg = tokavg_c.Tokavg(arguments.library, GRADIENT_RANKS) if arguments.cpu else Tokavg(arguments.library, GRADIENT_RANKS)
    notes, results = [], []
    for vocab in VOCABULARIES:
        try:
            results += measure(4 if arguments.cpu else ROWS, vocab, tokavg, clock, 3 if arguments.cpu else 11, notes)
        except OutOfMemory:
            notes.append(f"V = {vocab}: not enough memory")
        if clock.cuda:
            torch.cuda.empty_cache()
    versions = {"torch": torch.__version__, "tokavg": tokavg.version()}
    arguments.json.write_text(json.dumps({"results": results, "notes": notes, "versions": versions}, indent=1) + "\n")
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
