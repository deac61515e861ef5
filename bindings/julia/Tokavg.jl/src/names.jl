# SPDX-License-Identifier: Apache-2.0
# Symbols in place of the C constants.

const GRADIENTS = (mean=LibTokavg.TOKAVG_GRADIENT_MEAN, sum=LibTokavg.TOKAVG_GRADIENT_SUM)
const DIVISORS = (tokens=LibTokavg.TOKAVG_DIVISOR_TOKENS, weights=LibTokavg.TOKAVG_DIVISOR_WEIGHTS)
const TRANSPORTS = (auto=LibTokavg.TOKAVG_TRANSPORT_AUTO, nccl=LibTokavg.TOKAVG_TRANSPORT_NCCL)
const DEVICES = (auto=LibTokavg.TOKAVG_DEVICE_AUTO, host=LibTokavg.TOKAVG_DEVICE_HOST, cuda=LibTokavg.TOKAVG_DEVICE_CUDA)
const PROGRESS = (auto=LibTokavg.TOKAVG_PROGRESS_AUTO, thread=LibTokavg.TOKAVG_PROGRESS_THREAD,
                  caller=LibTokavg.TOKAVG_PROGRESS_CALLER)
const LOSSES = (token_losses=LibTokavg.TOKAVG_LOSS_TOKEN_LOSSES, sum=LibTokavg.TOKAVG_LOSS_SUM,
                mean=LibTokavg.TOKAVG_LOSS_MEAN)
const FACTORS = (scale=LibTokavg.TOKAVG_FACTOR_SCALE, report=LibTokavg.TOKAVG_FACTOR_REPORT,
                 microbatch=LibTokavg.TOKAVG_FACTOR_MICROBATCH)
const WAITS = (count=LibTokavg.TOKAVG_WAIT_COUNT, loss=LibTokavg.TOKAVG_WAIT_LOSS)
const LEVELS = (error=LibTokavg.TOKAVG_LOG_ERROR, warning=LibTokavg.TOKAVG_LOG_WARNING, info=LibTokavg.TOKAVG_LOG_INFO,
                debug=LibTokavg.TOKAVG_LOG_DEBUG)

@inline function named(what::Symbol, names::NamedTuple, value::Symbol)
    haskey(names, value) || unnamed(what, names, value)
    return names[value]
end

@noinline function unnamed(what, names, value)
    throw(ArgumentError("$what is :$value; it must be $(join(map(name -> ":$name", keys(names)), ", ", " or "))"))
end
