# SPDX-License-Identifier: Apache-2.0
"""The few structs and calls of tokavg's C interface that the comparison needs, on the memory of torch's tensors."""

import ctypes

import torch

I32, I64, F32, BF16 = 1, 2, 4, 6
HOST = 1
DTYPES = {torch.float32: F32, torch.bfloat16: BF16, torch.int64: I64}


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("memory", ctypes.c_int32),
        ("row_stride", ctypes.c_int64),
        ("col_stride", ctypes.c_int64),
    ]


class Config(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("comm_kind", ctypes.c_int32),
        ("comm", ctypes.c_void_p),
        ("comm_fortran", ctypes.c_int32),
        ("comm_rank", ctypes.c_int32),
        ("transport", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("host_threads", ctypes.c_int32),
        ("gradient_reduction", ctypes.c_int32),
        ("gradient_ranks", ctypes.c_int32),
        ("label_copies", ctypes.c_int32),
        ("label_copy_index", ctypes.c_int32),
        ("asks_only", ctypes.c_int32),
        ("microbatch_shards", ctypes.c_int32),
        ("accumulation_divisor", ctypes.c_double),
        ("ignore_index", ctypes.c_int64),
        ("divisor", ctypes.c_int32),
        ("terms", ctypes.c_int32),
        ("in_flight", ctypes.c_int32),
        ("progress", ctypes.c_int32),
        ("timeout_ms", ctypes.c_int64),
        ("warn_ms", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("log", ctypes.c_void_p),
        ("log_user", ctypes.c_void_p),
    ]


class Labels(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("term", ctypes.c_int32),
        ("label_base", ctypes.c_int32),
        ("shift", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        ("cols", ctypes.c_int64),
        ("labels", Array),
        ("mask", Array),
        ("weights", Array),
    ]


class CrossEntropy(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("logits", Array),
        ("vocab", ctypes.c_int64),
        ("labels", ctypes.POINTER(Labels)),
        ("label_smoothing", ctypes.c_double),
        ("z_loss", ctypes.c_double),
        ("logit_softcap", ctypes.c_double),
        ("loss_scale", ctypes.c_double),
        ("loss_scale_device", ctypes.c_void_p),
        ("gradient_out", Array),
        ("losses_out", Array),
        ("lse_out", Array),
        ("argmax_out", Array),
        ("backward_out", ctypes.c_void_p),
        ("sum_out", ctypes.POINTER(ctypes.c_double)),
    ]


def array(tensor):
    return Array(tensor.data_ptr(), DTYPES[tensor.dtype], HOST, 0, 0)


class Tokavg:
    """One rank of a trainer that averages gradients over `gradient_ranks`: the factor is gradient_ranks / tokens."""

    def __init__(self, library, gradient_ranks, threads=1):
        self._c = ctypes.CDLL(library)
        self._c.tokavg_status_name.restype = ctypes.c_char_p
        self._ctx = ctypes.c_void_p()
        config = Config()
        self._call("tokavg_config_init", ctypes.byref(config), ctypes.c_uint32(ctypes.sizeof(config)))
        config.comm_kind = 1  # TOKAVG_COMM_SELF
        config.device = 1  # TOKAVG_DEVICE_HOST
        config.gradient_reduction = 1  # TOKAVG_GRADIENT_MEAN
        config.gradient_ranks = gradient_ranks
        config.host_threads = threads
        self._call("tokavg_init", ctypes.byref(config), ctypes.byref(self._ctx))

    def version(self):
        self._c.tokavg_version.restype = ctypes.c_char_p
        return self._c.tokavg_version().decode()

    def _call(self, name, *arguments):
        status = getattr(self._c, name)(*arguments)
        if status < 0:
            text = ctypes.create_string_buffer(1024)
            self._c.tokavg_last_error(self._ctx, text, ctypes.c_int64(len(text)), None)
            raise RuntimeError(f"{name}: {self._c.tokavg_status_name(status).decode()}: {text.value.decode()}")

    def step(self, logits, labels, losses, train):
        """One step: count, reduce, loss; train: the gradient goes over the logits. Returns the sum of the losses."""
        described = Labels(struct_size=ctypes.sizeof(Labels), rows=1, cols=len(labels), labels=array(labels))
        ticket = ctypes.c_int64()
        total = ctypes.c_double()
        entropy = CrossEntropy(
            struct_size=ctypes.sizeof(CrossEntropy),
            logits=array(logits),
            vocab=logits.shape[1],
            labels=ctypes.pointer(described),
            losses_out=array(losses),
            sum_out=ctypes.pointer(total),
        )
        if train:
            entropy.gradient_out = entropy.logits
        self._call("tokavg_count", self._ctx, ctypes.byref(described), None)
        self._call("tokavg_reduce", self._ctx, None, None, ctypes.byref(ticket))
        self._call("tokavg_cross_entropy", self._ctx, ticket, ctypes.byref(entropy), None)
        return total.value
