// SPDX-License-Identifier: Apache-2.0
use std::ptr::{self, NonNull};

use crate::{sys, Error, Result, Status};

/// A group of ranks that are threads of this process. Contexts made from it may outlive it.
#[derive(Debug)]
pub struct Threads {
    raw: NonNull<sys::tokavg_threads_t>,
}

// SAFETY: the library allows any thread.
unsafe impl Send for Threads {}
unsafe impl Sync for Threads {}

impl Threads {
    /// A group of 1 to 65536 ranks.
    pub fn new(ranks: i32) -> Result<Threads> {
        let mut raw = ptr::null_mut();
        // SAFETY: raw is written on success.
        let status = Status::from_raw(unsafe { sys::tokavg_threads_create(ranks, &mut raw) });
        match NonNull::new(raw) {
            Some(raw) if !status.is_error() => Ok(Threads { raw }),
            _ => Err(Error::without_context(status)),
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::tokavg_threads_t {
        self.raw.as_ptr()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // SAFETY: made by tokavg_threads_create, freed here alone.
        unsafe { sys::tokavg_threads_free(self.raw.as_ptr()) };
    }
}
