// SPDX-License-Identifier: Apache-2.0
use std::mem::{size_of, MaybeUninit};
use std::time::Duration;

use crate::config::choices;
use crate::{as_i32, as_ms, sys, Context, Error, Result, Status, StepResult};

choices! {
    /// What to wait for.
    Wait {
        /// The counts, and so the factors.
        Count = TOKAVG_WAIT_COUNT,
        /// Also the losses of all ranks.
        Loss = TOKAVG_WAIT_LOSS,
    }
    /// Which factor. Z is the divisor, G the gradient ranks, A the accumulation divisor, M the microbatches.
    FactorKind {
        /// f: G · A / Z (mean) or A / Z (sum); 0 where Z is 0.
        Scale = TOKAVG_FACTOR_SCALE,
        /// 1 / Z; 0 where Z is 0.
        Report = TOKAVG_FACTOR_REPORT,
        /// For terms of a whole microbatch: G · A · shards / M (mean) or A · shards / M (sum).
        Microbatch = TOKAVG_FACTOR_MICROBATCH,
    }
}

/// The number of a reduced step: what may be kept beside the context, and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TicketId(i64);

impl TicketId {
    /// From the number of the C interface.
    pub const fn from_raw(id: i64) -> TicketId {
        TicketId(id)
    }

    /// The number of the C interface.
    pub const fn raw(self) -> i64 {
        self.0
    }
}

/// A reduced step of a context, which it cannot outlive. The context keeps the latest `in_flight` of them.
///
/// ```compile_fail,E0505
/// # use tokavg::{Comm, Config, Gradient};
/// let ctx = Config::new(Comm::own(), Gradient::Mean).init().unwrap();
/// let step = ctx.reduce().unwrap();
/// ctx.finalize().unwrap(); // refused: the ticket is used below
/// step.id();
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Ticket<'ctx> {
    pub(crate) ctx: &'ctx Context,
    id: TicketId,
}

impl<'ctx> Ticket<'ctx> {
    pub(crate) fn new(ctx: &'ctx Context, id: TicketId) -> Ticket<'ctx> {
        Ticket { ctx, id }
    }

    /// The number of this step.
    pub fn id(&self) -> TicketId {
        self.id
    }

    /// Waits until the context's deadline, and reads the step. Of [`Wait::Loss`] the result is pending where losses were
    /// not sent yet: see [`Context::flush`].
    pub fn wait(&self, what: Wait) -> Result<StepResult> {
        self.wait_ms(what, -1)
    }

    /// Waits so long at most; then the result is pending.
    pub fn wait_for(&self, what: Wait, time: Duration) -> Result<StepResult> {
        self.wait_ms(what, as_ms(time))
    }

    /// Reads the step as it is, without waiting; the result may be pending.
    pub fn poll(&self, what: Wait) -> Result<StepResult> {
        self.wait_ms(what, 0)
    }

    fn wait_ms(&self, what: Wait, timeout_ms: i64) -> Result<StepResult> {
        // SAFETY: all zero is valid.
        let mut raw = unsafe { MaybeUninit::<sys::tokavg_result_t>::zeroed().assume_init() };
        raw.struct_size = size_of::<sys::tokavg_result_t>() as u32;
        let id = self.id.0;
        // SAFETY: raw is written up to its struct_size.
        let done =
            self.ctx.call_for_status(|ctx| unsafe { sys::tokavg_wait(ctx, id, what as i32, timeout_ms, &mut raw) });
        let result = |status: Status| StepResult::new(status, self.ctx.terms(), raw);
        match done {
            Ok(status) => Ok(result(status)),
            Err(error) if raw.ticket != 0 => Err(with_result(error, result)),
            Err(error) => Err(error),
        }
    }

    /// The factor of a term, the same bits on every rank. Waits for the counts.
    pub fn factor(&self, term: usize, kind: FactorKind) -> Result<f64> {
        let (id, term, mut factor) = (self.id.0, as_i32(term), 0.0);
        // SAFETY: factor is written on success.
        self.ctx.call(|ctx| unsafe { sys::tokavg_factor(ctx, id, term, kind as i32, &mut factor) })?;
        Ok(factor)
    }

    /// The factor as a float in device memory, ready in the order of the context's stream. The float lives as long as the
    /// ticket is kept.
    pub fn factor_device(&self, term: usize, kind: FactorKind) -> Result<*const f32> {
        let (id, term, mut factor) = (self.id.0, as_i32(term), std::ptr::null());
        let stream = self.ctx.stream();
        // SAFETY: factor is written on success; the caller of set_stream has vouched for the stream.
        self.ctx.call(|ctx| unsafe { sys::tokavg_factor_device(ctx, id, term, kind as i32, stream, &mut factor) })?;
        Ok(factor)
    }

    /// This rank does not need the step any more. Needed only for steps closed while a CUDA graph was captured.
    pub fn release(self) -> Result<()> {
        // SAFETY: no pointers.
        self.ctx.call(|ctx| unsafe { sys::tokavg_release(ctx, self.id.0) })
    }
}

#[cold]
fn with_result(error: Error, result: impl FnOnce(Status) -> StepResult) -> Error {
    let status = error.status();
    error.with_result(result(status))
}
