// SPDX-License-Identifier: Apache-2.0
use crate::{sys, Status, TicketId};

/// What a step holds, over all ranks unless the name says local.
///
/// Methods that take a term panic where the context has no such term, as an index does.
#[derive(Clone, Debug)]
pub struct StepResult {
    status: Status,
    terms: usize,
    raw: sys::tokavg_result_t,
}

macro_rules! per_term {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self, term: usize) -> $type {
            self.raw.$name[..self.terms][term]
        }
    )*};
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> $type {
            self.raw.$name
        }
    )*};
}

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident: $flag:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> bool {
            self.raw.flags & sys::$flag != 0
        }
    )*};
}

impl StepResult {
    pub(crate) fn new(status: Status, terms: usize, raw: sys::tokavg_result_t) -> StepResult {
        StepResult { status, terms, raw }
    }

    /// [`Status::OK`], [`Status::EMPTY`] or [`Status::PENDING`]; inside an [`Error`](crate::Error) that error's.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Nothing was scored anywhere, or all weights that divide were 0: factors are 0, losses +0.0.
    pub fn is_empty(&self) -> bool {
        self.status == Status::EMPTY
    }

    /// What was waited for is not complete; the numbers are those known so far.
    pub fn is_pending(&self) -> bool {
        self.status == Status::PENDING
    }

    /// The number of terms.
    pub fn terms(&self) -> usize {
        self.terms
    }

    per_term! {
        /// N: scored tokens.
        tokens: i64;
        /// n: this rank's.
        local_tokens: i64;
        /// Tokens in the losses received so far.
        loss_tokens: i64;
        /// Losses that were NaN, infinite or too large to sum.
        nonfinite: i64;
        /// Labels outside the vocabulary, found on a device.
        invalid_labels: i64;
        /// C: the sum of weights; N where no weights were given.
        weight_sum: f64;
        /// S: the sum of the (weighted) losses received so far.
        loss_sum: f64;
        /// f, of kind [`FactorKind::Scale`](crate::FactorKind::Scale).
        factor: f64;
        /// S / Z; final with [`loss_ready`](StepResult::loss_ready).
        mean_loss: f64;
    }

    flags! {
        /// Every counted token's loss is in the sums.
        loss_ready: TOKAVG_RESULT_LOSS_READY;
        /// A step's losses held other tokens than were counted: see [`audit_ticket`](StepResult::audit_ticket).
        audit_failed: TOKAVG_RESULT_AUDIT_FAILED;
        /// Some losses did not say how many tokens they hold.
        unaudited: TOKAVG_RESULT_UNAUDITED;
        /// Some losses were NaN, infinite or too large to sum.
        has_nonfinite: TOKAVG_RESULT_NONFINITE;
        /// Some labels were outside the vocabulary (found on a device).
        has_invalid_label: TOKAVG_RESULT_INVALID_LABEL;
    }

    numbers! {
        /// The step id given to the reduce, else 0.
        step_id: i64;
        /// M: microbatches.
        microbatches: i64;
        /// Tokens that were counted on the audited ticket.
        audit_counted: i64;
        /// Tokens in its losses.
        audit_recorded: i64;
        /// Ranks of the context.
        ranks: i32;
        /// Those that hold labels, copies included.
        label_ranks: i32;
        /// Label ranks with no scored token in any term.
        empty_ranks: i32;
        /// Label ranks that said they are done, now or before.
        done_ranks: i32;
        /// Ranks that failed in this step.
        failed_ranks: i32;
        /// Seconds that calls of this rank spent waiting for the step.
        exposed_seconds: f64;
        /// Seconds from the reduce until its sum was seen complete.
        reduce_seconds: f64;
    }

    /// Every rank that holds labels has said that it is done.
    pub fn all_done(&self) -> bool {
        self.raw.done_ranks >= self.raw.label_ranks
    }

    /// The ticket.
    pub fn ticket(&self) -> TicketId {
        TicketId::from_raw(self.raw.ticket)
    }

    /// The ticket whose losses do not fit its counts, where [`audit_failed`](StepResult::audit_failed).
    pub fn audit_ticket(&self) -> Option<TicketId> {
        self.audit_failed().then(|| TicketId::from_raw(self.raw.audit_ticket))
    }

    /// The failed rank, when it is one and known.
    pub fn failed_rank(&self) -> Option<i32> {
        (self.raw.first_failed_rank >= 0 && self.raw.failed_ranks > 0).then_some(self.raw.first_failed_rank)
    }

    /// The struct of the C interface.
    pub fn raw(&self) -> &sys::tokavg_result_t {
        &self.raw
    }
}
