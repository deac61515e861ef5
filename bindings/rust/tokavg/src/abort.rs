// SPDX-License-Identifier: Apache-2.0
use std::sync::{Arc, Mutex, PoisonError};

use crate::log::Logger;
use crate::{sys, Status};

/// Fails a context from any thread: every call that waits returns [`Status::ABORTED`], here and, as far as they can be
/// told, on the other ranks. It may outlive the context.
#[derive(Clone, Debug)]
pub struct AbortHandle(pub(crate) Arc<Shared>);

/// What a context and its abort handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// None: freed. The lock keeps the context until an abort in progress is through.
    raw: Mutex<Option<Raw>>,
    pub(crate) logger: Option<Arc<Logger>>,
}

#[derive(Clone, Copy, Debug)]
struct Raw(*mut sys::tokavg_context_t);

// SAFETY: tokavg_abort may be called on any thread, and tokavg_free is called under the lock.
unsafe impl Send for Raw {}

impl Shared {
    pub(crate) fn new(raw: *mut sys::tokavg_context_t, logger: Option<Arc<Logger>>) -> Shared {
        Shared { raw: Mutex::new(Some(Raw(raw))), logger }
    }

    /// A call on the context from its own log callback, inside another call.
    pub(crate) fn is_reentered(&self) -> bool {
        self.logger.as_ref().map_or(false, |logger| logger.is_running())
    }

    pub(crate) fn free(&self) {
        // The call that logs may hold the lock and the context: better a leak than either.
        if self.is_reentered() {
            return;
        }
        if let Some(raw) = self.raw.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // SAFETY: taken, so freed once.
            unsafe { sys::tokavg_free(raw.0) };
        }
    }
}

impl AbortHandle {
    /// Fails the context. [`Status::HANDLE`] if it is gone, [`Status::STATE`] inside its own log callback.
    pub fn abort(&self) -> Status {
        if self.0.is_reentered() {
            return Status::STATE;
        }
        match *self.0.raw.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: not freed while the lock is held.
            Some(raw) => Status::from_raw(unsafe { sys::tokavg_abort(raw.0) }),
            None => Status::HANDLE,
        }
    }
}
