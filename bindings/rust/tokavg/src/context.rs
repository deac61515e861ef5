// SPDX-License-Identifier: Apache-2.0
use std::cell::Cell;
use std::os::raw::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::abort::Shared;
use crate::log::Logger;
use crate::{as_i32, as_i64, sys, text, AbortHandle, Error, Labels, Reduce, Result, Status, Ticket, TicketId};

/// One rank of a data group: its open step and the steps in flight. [`Config::init`](crate::Config::init) makes it.
///
/// It belongs to one thread, as the types say ([`AbortHandle`] excepted). Dropping it frees this rank alone: that never
/// blocks and is right at any time, also after MPI_Finalize. [`finalize`](Context::finalize) ends all ranks together, once.
///
/// ```compile_fail,E0277
/// # use tokavg::{Comm, Config, Gradient};
/// let ctx = Config::new(Comm::own(), Gradient::Mean).init().unwrap();
/// std::thread::spawn(move || ctx.reduce().map(|step| step.id())); // refused: not Send
/// ```
///
/// ```compile_fail,E0277
/// # use tokavg::{Comm, Config, Gradient};
/// let ctx = Config::new(Comm::own(), Gradient::Mean).init().unwrap();
/// std::thread::scope(|scope| scope.spawn(|| ctx.progress().is_ok()).join().unwrap()); // refused: not Sync
/// ```
///
/// ```compile_fail,E0382
/// # use tokavg::{Comm, Config, Gradient};
/// let ctx = Config::new(Comm::own(), Gradient::Mean).init().unwrap();
/// ctx.finalize().unwrap();
/// ctx.finalize().unwrap(); // refused: it is gone
/// ```
#[derive(Debug)]
pub struct Context {
    raw: NonNull<sys::tokavg_context_t>,
    terms: usize,
    stream: Cell<*mut c_void>,
    shared: Arc<Shared>,
}

impl Context {
    pub(crate) fn made(
        status: i32,
        raw: *mut sys::tokavg_context_t,
        terms: usize,
        logger: Option<Arc<Logger>>,
    ) -> Result<Context> {
        let status = Status::from_raw(status);
        match NonNull::new(raw) {
            Some(raw) if !status.is_error() => {
                let shared = Arc::new(Shared::new(raw.as_ptr(), logger));
                Ok(Context { raw, terms, stream: Cell::new(ptr::null_mut()), shared })
            }
            _ => Err(Error::without_context(status)),
        }
    }

    /// Counts the scored tokens of labels into the open step.
    pub fn count(&self, labels: &Labels<'_>) -> Result<()> {
        match labels.checked() {
            // SAFETY: checked against the slices, which outlive the call.
            Ok(labels) => self.call(|ctx| unsafe { sys::tokavg_count(ctx, &labels, self.stream()) }),
            Err(text) => Err(self.refuse(text, |ctx| unsafe { sys::tokavg_count(ctx, ptr::null(), self.stream()) })),
        }
    }

    /// Adds counts that the caller knows already: `tokens` of a term, the sum of their weights (None: no weights), and how
    /// many microbatches begin with it (0: they belong to the one already begun).
    pub fn count_add(&self, term: usize, tokens: usize, weight_sum: Option<f64>, microbatches: usize) -> Result<()> {
        if weight_sum == Some(0.0) && tokens != 0 {
            // To the library 0 means: no weights.
            let text = "weight_sum is 0, which only count() can give; pass the labels, or None for no weights".into();
            return Err(self.refuse(text, |ctx| unsafe { sys::tokavg_count_add(ctx, -1, 0, 0.0, 0) }));
        }
        let (term, tokens, microbatches) = (as_i32(term), as_i64(tokens), as_i64(microbatches));
        // SAFETY: no pointers.
        self.call(|ctx| unsafe { sys::tokavg_count_add(ctx, term, tokens, weight_sum.unwrap_or(0.0), microbatches) })
    }

    /// Takes the latest microbatch back: its counts in all terms and its losses on the open step.
    pub fn discard(&self) -> Result<()> {
        // SAFETY: no pointers.
        self.call(|ctx| unsafe { sys::tokavg_discard(ctx) })
    }

    /// Closes the open step, begins to sum its counts over the ranks, and opens the next one. Collective; does not wait
    /// unless all tickets are in use by unfinished reductions.
    pub fn reduce(&self) -> Result<Ticket<'_>> {
        self.submit_reduce(ptr::null())
    }

    /// The same with options.
    pub fn reduce_with(&self, options: &Reduce) -> Result<Ticket<'_>> {
        self.submit_reduce(&options.raw())
    }

    fn submit_reduce(&self, options: *const sys::tokavg_reduce_t) -> Result<Ticket<'_>> {
        let mut id = 0;
        // SAFETY: options is null or valid during the call.
        let done = self.call(|ctx| unsafe { sys::tokavg_reduce(ctx, options, self.stream(), &mut id) });
        match done {
            Ok(()) => Ok(Ticket::new(self, TicketId::from_raw(id))),
            Err(error) if id != 0 => Err(error.with_ticket(TicketId::from_raw(id))),
            Err(error) => Err(error),
        }
    }

    /// Sends losses and failures of closed steps that no later reduce will send. Collective; does not wait.
    pub fn flush(&self) -> Result<()> {
        // SAFETY: the caller of set_stream has vouched for it.
        self.call(|ctx| unsafe { sys::tokavg_flush(ctx, self.stream()) })
    }

    /// Moves messages on where no thread does: see [`Progress`](crate::Progress). Call it about once a millisecond during
    /// the forward pass.
    pub fn progress(&self) -> Result<()> {
        // SAFETY: no pointers.
        self.call(|ctx| unsafe { sys::tokavg_progress(ctx) })
    }

    /// A ticket of this context again, from what [`Ticket::id`] gave.
    pub fn ticket(&self, id: TicketId) -> Ticket<'_> {
        Ticket::new(self, id)
    }

    /// Ends the context together with all ranks: waits for the steps in flight and sends losses that have not been sent.
    /// Collective. On failure the context is gone, as after a drop.
    pub fn finalize(self) -> Result<Finalized> {
        // SAFETY: no pointers.
        self.call(|ctx| unsafe { sys::tokavg_finalize(ctx) })?;
        Ok(Finalized(self))
    }

    /// What fails this context from any thread.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(Arc::clone(&self.shared))
    }

    /// The CUDA stream that later calls take arrays in device memory in the order of.
    ///
    /// # Safety
    /// It must be null or a `cudaStream_t` of the context's GPU that lives until another one is set.
    pub unsafe fn set_stream(&self, stream: *mut c_void) {
        self.stream.set(stream);
    }

    /// One JSON object: version, transport, effective configuration, settings from the environment, steps.
    pub fn describe(&self) -> String {
        self.enter().map_or_else(|_| String::new(), text::describe)
    }

    /// The library's text of the last error or remark of this context, for instance why a wait is pending.
    pub fn last_error(&self) -> String {
        self.enter().map_or_else(|_| String::new(), text::last_error)
    }

    /// The number of terms.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// The handle of the C interface, for what [`sys`] offers besides.
    pub fn as_raw(&self) -> *mut sys::tokavg_context_t {
        self.raw.as_ptr()
    }

    pub(crate) fn stream(&self) -> *mut c_void {
        self.stream.get()
    }

    /// The handle, unless this is a log callback of the context, inside one of its calls.
    fn enter(&self) -> Result<*mut sys::tokavg_context_t> {
        if self.shared.is_reentered() {
            return Err(Error::new(Status::STATE, "the context was called from its own log callback".into()));
        }
        Ok(self.raw.as_ptr())
    }

    /// Calls the library; an error comes with its text.
    #[inline]
    pub(crate) fn call(&self, call: impl FnOnce(*mut sys::tokavg_context_t) -> i32) -> Result<()> {
        self.call_for_status(call).map(drop)
    }

    #[inline]
    pub(crate) fn call_for_status(&self, call: impl FnOnce(*mut sys::tokavg_context_t) -> i32) -> Result<Status> {
        let ctx = self.enter()?;
        let status = Status::from_raw(call(ctx));
        if status.is_error() {
            return Err(self.error(status));
        }
        Ok(status)
    }

    #[cold]
    fn error(&self, status: Status) -> Error {
        Error::new(status, text::last_error(self.raw.as_ptr()))
    }

    /// An argument that the library must not see. `fail` is a call that it refuses too, so that the open step is marked and
    /// the other ranks learn of it.
    #[cold]
    pub(crate) fn refuse(&self, text: String, fail: impl FnOnce(*mut sys::tokavg_context_t) -> i32) -> Error {
        match self.call(fail) {
            Err(error) if error.status() != Status::ARGUMENT => error,
            _ => Error::new(Status::ARGUMENT, text),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.shared.free();
    }
}

/// A context after [`Context::finalize`]: its kept tickets can still be read. Dropping it frees it.
#[derive(Debug)]
pub struct Finalized(Context);

impl Finalized {
    /// A ticket that is kept. Waiting for it and its factors still work; everything else is [`Status::STATE`].
    pub fn ticket(&self, id: TicketId) -> Ticket<'_> {
        self.0.ticket(id)
    }

    /// As [`Context::describe`].
    pub fn describe(&self) -> String {
        self.0.describe()
    }

    /// As [`Context::last_error`].
    pub fn last_error(&self) -> String {
        self.0.last_error()
    }
}
