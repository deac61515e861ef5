# SPDX-License-Identifier: Apache-2.0
"""The goals for a GPU, as the list of bench/evaluation/goals.py is for a processor, and what answers them."""
from evaluation.goals import at_least, at_most
from evaluation.results import NoData

VOCABULARIES = (32000, 50257, 128256, 262144)
TYPES = ("bf16", "f32")
MIDDLE = "bf16/128256"


class Results:
    """Answers questions about a run; raises NoData where the answer was not measured."""

    def __init__(self, bench, peers):
        self.bench, self.peers = bench, peers

    def entry(self, name):
        if self.bench is None:
            raise NoData("the benchmarks did not run")
        if name not in self.bench["benchmarks"]:
            raise NoData(f"{name} was not measured")
        return self.bench["benchmarks"][name]

    def us(self, name):
        return self.entry(name)["us"]

    def us_per_byte(self, name):
        entry = self.entry(name)
        return entry["us"] / entry["bytes"]

    def times_faster(self, peer):
        """Than a peer that took turns with us in one process, with the shape where we are worst."""
        if self.peers is None:
            raise NoData("no peers were measured")
        ratios = [entry["us"] / entry["tokavg_us"] for entry in self.peers["results"] if entry["peer"] == peer]
        if not ratios:
            raise NoData(f"{peer} was not measured")
        return min(ratios)


def share(kernel, yardstick):
    """The speed of a kernel as a share of that of its yardstick, byte for byte."""
    return lambda r: r.us_per_byte(yardstick) / r.us_per_byte(kernel)


def times(slow, fast):
    return lambda r: r.us(slow) / r.us(fast)


def host_share(name):
    """The time until the call returned over the time on the GPU."""
    return lambda r: r.entry(name)["host_us"] / r.us(name)


def faster(peer):
    return lambda r: r.times_faster(peer)


CHECKS = [
    *[at_least("G10", f"forward+gradient bf16, V = {vocab} / copy", 0.85,
               share(f"cross_entropy/gradient/bf16/{vocab}", f"cross_entropy/copy/bf16/{vocab}"))
      for vocab in VOCABULARIES],
    *[at_least("G10", f"count of {dtype}, 128 Mi labels / read", 0.90,
               share(f"count/count/{dtype}/128Mi", f"count/read/{dtype}/128Mi")) for dtype in ("i64", "i32")],

    at_least("G11", "forward+gradient: times as fast as torch eager", 3, faster("torch-eager")),
    at_least("G11", "forward+gradient: times as fast as torch on logits.float()", 6, faster("torch-float")),
    *[at_least("G11", f"gradient bf16, V = {vocab}: times as fast as with a second pass", 1.7,
               times(f"cross_entropy/two_passes/bf16/{vocab}", f"cross_entropy/gradient/bf16/{vocab}"))
      for vocab in VOCABULARIES],
    # A call that waited for the GPU would last as long as its kernel.
    at_most("G11", f"gradient {MIDDLE}: the host's time in the call / the GPU's", 0.1,
            host_share(f"cross_entropy/gradient/{MIDDLE}")),
    at_most("G11", "a step's calls in a CUDA graph / call by call, one rank", 1.0, times("step/graph/self", "step/eager/self")),
]

# Equal benchmarks under two names. What they differ by is noise, and so is as much of every other ratio.
TWINS = [
    *[(f"count/count/{dtype}/128Mi", f"count/count_again/{dtype}/128Mi") for dtype in ("i64", "i32")],
    *[(f"cross_entropy/{what}/{dtype}/{vocab}", f"cross_entropy/{what}_again/{dtype}/{vocab}")
      for what in ("gradient", "copy") for dtype in TYPES for vocab in VOCABULARIES],
]


def noise(results):
    """How far the twins are apart, as a share, by name."""
    found = {}
    for name, again in TWINS:
        try:
            found[name] = results.us(again) / results.us(name) - 1
        except NoData:
            continue
    return found


# Everything that is divided by something, for the table: name, yardstick.
def ratios():
    for dtype in ("i64", "i32"):
        yield f"count/count/{dtype}/128Mi", f"count/read/{dtype}/128Mi"
    for dtype in TYPES:
        for vocab in VOCABULARIES:
            yield f"cross_entropy/forward/{dtype}/{vocab}", f"cross_entropy/read/{dtype}/{vocab}"
            yield f"cross_entropy/gradient/{dtype}/{vocab}", f"cross_entropy/copy/{dtype}/{vocab}"
    for what in ("gradient_factor_1", "gradient_smoothing", "gradient_softcap"):
        yield f"cross_entropy/{what}/{MIDDLE}", f"cross_entropy/copy/{MIDDLE}"
    yield "loss/loss/f32/64Mi", "loss/read/f32/64Mi"
    yield "scale/scale/bf16/100", "scale/copy/bf16/100"
