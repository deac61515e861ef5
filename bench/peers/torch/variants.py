# SPDX-License-Identifier: Apache-2.0
"""The ways to get a cross entropy and its gradient out of torch.

Each variant is a class that is made for one batch. `forward` returns the sum of the losses, `forward_backward` also the
gradient; it may write it over batch.logits, which are restored before the next call. `loss_tolerance` is relative,
`gradient_tolerance` relative to the largest gradient of the row.
"""

import math

import torch
import torch.nn.functional as F

aten = torch.ops.aten
# So many rows at a time stay in the cache together with what is computed from them. Of 0.5 to 8 MiB, 2 was fastest.
BLOCK_BYTES = 2 * 1024 * 1024


class Disagreement(RuntimeError):
    """An answer is wrong: the whole comparison fails."""


class Batch:
    def __init__(self, dtype, rows, vocab, gradient_ranks):
        generator = torch.Generator().manual_seed(1)
        self.pristine = torch.randn(rows, vocab, generator=generator).mul_(2).to(dtype)
        self.logits = self.pristine.clone()
        self.labels = torch.randint(0, vocab, (rows,), generator=generator)
        self.column = self.labels[:, None]
        self.losses = torch.empty(rows)
        self.factor = gradient_ranks / rows
        self.factor_tensor = torch.tensor(self.factor)
        # A power of two, which divides the rows: a last block of another shape would be compiled anew.
        fitting = max(1, BLOCK_BYTES // (vocab * self.logits.element_size()))
        block = 1 << (fitting.bit_length() - 1)
        self.picked = torch.empty(rows, 1, dtype=dtype)  # the log-probability of each label
        self.blocks = list(zip(self.logits.split(block), self.column.split(block), self.picked.split(block)))
        self.block_shape = (block, vocab)

    def restore(self):
        self.logits.copy_(self.pristine)

    @property
    def bf16(self):
        return self.logits.dtype == torch.bfloat16

    @property
    def dtype_name(self):
        return "bf16" if self.bf16 else "f32"

    @property
    def vocab(self):
        return self.logits.shape[1]


class Variant:
    floats = False  # computes with logits.float()
    compiled = False
    formula = False  # the gradient is not torch's own, but the formula of cross entropy

    def __init__(self, batch):
        self.batch = batch
        rounds = batch.bf16 and not self.floats  # log-probabilities with 8 bits
        self.loss_tolerance = 1e-2 if rounds else 1e-4
        self.gradient_tolerance = 1e-1 if rounds else 1e-2 if batch.bf16 else 1e-4

    @classmethod
    def suits(cls, batch, train):
        return train or not cls.formula

    def call(self, train):
        """The loss, and the gradient or None."""
        return self.forward_backward() if train else (self.forward(), None)

    def forward(self):
        with torch.inference_mode():
            return self.loss(self.batch.logits, self.batch.labels)

    def forward_backward(self):
        """autograd: a fresh leaf on the logits' memory, so that no old gradient has to be added to."""
        leaf = self.batch.logits.detach().requires_grad_()
        loss = self.loss(leaf, self.batch.labels)
        (loss * self.batch.factor_tensor).backward()
        return loss.detach(), leaf.grad

    def loss(self, logits, labels):
        raise NotImplementedError


class CrossEntropy(Variant):
    name = "cross_entropy"

    def loss(self, logits, labels):
        return F.cross_entropy(logits, labels, reduction="sum")


class CrossEntropyFloat(Variant):
    name = "cross_entropy(logits.float())"
    floats = True

    @classmethod
    def suits(cls, batch, train):
        return batch.bf16

    def loss(self, logits, labels):
        return F.cross_entropy(logits.float(), labels, reduction="sum")


class CrossEntropyNone(Variant):
    name = "cross_entropy, reduction none"

    def loss(self, logits, labels):
        return F.cross_entropy(logits, labels, reduction="none").sum(dtype=torch.float32)


class Compiled(Variant):
    name = "torch.compile(cross_entropy)"
    floats = True  # inductor computes in float and rounds what it stores
    compiled = True

    def __init__(self, batch):
        super().__init__(batch)
        self._loss = torch.compile(lambda x, y: F.cross_entropy(x.float(), y, reduction="sum"), dynamic=False)

    def loss(self, logits, labels):
        return self._loss(logits, labels)


class Preallocated(Variant):
    """log_softmax and nll by hand, into memory that is there; the gradient over the logits."""

    name = "log_softmax and nll by hand, out="

    def __init__(self, batch):
        super().__init__(batch)
        self.log_probs = torch.empty(self.rows_shape(batch), dtype=batch.logits.dtype)
        self.upstream = torch.zeros_like(self.log_probs)

    def rows_shape(self, batch):
        return batch.logits.shape

    def blocks(self):
        return [(self.batch.logits, self.batch.column, self.batch.picked)]

    def work(self, train):
        with torch.inference_mode():
            for logits, column, picked in self.blocks():
                log_probs = self.log_probs[: len(logits)]
                aten._log_softmax.out(logits, 1, False, out=log_probs)
                torch.gather(log_probs, 1, column, out=picked)
                if train:
                    self.gradient(logits, column, log_probs)
            return -self.batch.picked.sum(dtype=torch.float32)

    def forward(self):
        return self.work(False)

    def forward_backward(self):
        return self.work(True), self.batch.logits

    def gradient(self, logits, column, log_probs):
        # All of the upstream gradient but the labels' is zero and stays so.
        upstream = self.upstream[: len(logits)]
        upstream.scatter_(1, column, -self.batch.factor)
        aten._log_softmax_backward_data.out(upstream, log_probs, 1, logits.dtype, out=logits)
        upstream.scatter_(1, column, 0.0)


class Blocked(Preallocated):
    """The same, a few rows at a time, which stay in the cache."""

    name = "log_softmax and nll by hand, out=, in blocks of rows"

    def rows_shape(self, batch):
        return batch.block_shape

    def blocks(self):
        return self.batch.blocks


class BlockedFormula(Blocked):
    """No operator of torch's backward: exp(log p) * f, and f less at the label."""

    name = "log_softmax, gradient by formula, in blocks of rows"
    formula = True

    def gradient(self, logits, column, log_probs):
        torch.exp(log_probs, out=logits)
        logits.mul_(self.batch.factor)
        logits.scatter_add_(1, column, torch.full(column.shape, -self.batch.factor, dtype=logits.dtype))


class CompiledFormula(Variant):
    """Loss and gradient in one compiled function, the gradient over the logits, in blocks of rows."""

    name = "torch.compile(loss and gradient by formula, in place), in blocks of rows"
    formula = True
    floats = True
    compiled = True

    def __init__(self, batch):
        super().__init__(batch)
        self._step = torch.compile(self.loss_and_gradient, dynamic=False)

    @staticmethod
    def loss_and_gradient(logits, column, factor):
        x = logits.float()
        largest = x.amax(1, True)
        exps = (x - largest).exp()
        total = exps.sum(1, True)
        losses = total.log() + largest - x.gather(1, column)
        logits.copy_(exps * (factor / total))
        # The label's class in one rounding, from its own probability.
        logits.scatter_(1, column, ((-losses).expm1() * factor).to(logits.dtype))
        return losses.sum()

    def forward_backward(self):
        with torch.inference_mode():
            total = sum(self._step(x, column, self.batch.factor_tensor) for x, column, _ in self.batch.blocks)
            return total, self.batch.logits


VARIANTS = [
    CrossEntropy,
    CrossEntropyFloat,
    CrossEntropyNone,
    Preallocated,
    Blocked,
    Compiled,
    BlockedFormula,
    CompiledFormula,
]


def exact_loss(batch):
    """The sum of the losses in double precision."""
    total = 0.0
    for logits, column in zip(batch.pristine.split(16), batch.column.split(16)):
        x = logits.double()
        total += float((torch.logsumexp(x, 1, keepdim=True) - x.gather(1, column)).sum())
    return total


def check(batch, name, loss, exact, gradient, loss_tolerance, gradient_tolerance):
    """Raises where a loss, or a gradient of eight of the rows, is off."""
    if not math.isclose(float(loss), exact, rel_tol=loss_tolerance):
        raise Disagreement(f"{name}: the loss is {float(loss)!r}, not {exact!r}")
    if gradient is None:
        return
    rows = torch.arange(0, len(batch.labels), max(1, len(batch.labels) // 8))
    column = batch.column[rows]
    p = torch.softmax(batch.pristine[rows].double(), 1)
    expected = p.scatter_add(1, column, torch.full(column.shape, -1.0, dtype=p.dtype)) * batch.factor
    error = (gradient[rows].double() - expected).abs()
    at_label = error.gather(1, column) / expected.gather(1, column).abs()
    elsewhere = error.scatter(1, column, 0.0).amax(1) / expected.amax(1)
    worst = max(float(at_label.amax()), float(elsewhere.amax()))
    if not worst <= gradient_tolerance:
        raise Disagreement(f"{name}: a gradient is off by {worst:.2g} of its row's largest")
