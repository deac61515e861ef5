// SPDX-License-Identifier: Apache-2.0
use std::ffi::CStr;
use std::fmt;

use crate::sys;

/// What a call came to: 0, a positive remark or a negative error. Not an enum: a later library may know more values.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Status(i32);

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $constant:ident;)*) => {
        impl Status {
            $($(#[$doc])* pub const $name: Status = Status(sys::$constant);)*
        }
    };
}

statuses! {
    /// Done.
    OK = TOKAVG_OK;
    /// Not yet complete; ask again, or wait longer.
    PENDING = TOKAVG_PENDING;
    /// The step is complete and holds nothing to divide by: factors are 0, losses +0.0.
    EMPTY = TOKAVG_EMPTY;
    /// An argument is wrong.
    ARGUMENT = TOKAVG_ERR_ARGUMENT;
    /// The configuration is wrong, or differs between ranks.
    CONFIG = TOKAVG_ERR_CONFIG;
    /// The call does not fit the state.
    STATE = TOKAVG_ERR_STATE;
    /// The ticket is older than the context keeps, or was released.
    STALE = TOKAVG_ERR_STALE;
    /// A scored label lies outside the vocabulary.
    LABEL = TOKAVG_ERR_LABEL;
    /// A scored weight is not finite, too large, or negative where weights are the divisor.
    WEIGHT = TOKAVG_ERR_WEIGHT;
    /// A count or a sum of weights does not fit its type.
    OVERFLOW = TOKAVG_ERR_OVERFLOW;
    /// Ranks that said they hold copies of the same labels counted different ones.
    COPIES = TOKAVG_ERR_COPIES;
    /// Another rank failed in this step.
    PEER = TOKAVG_ERR_PEER;
    /// The ranks are not in the same step.
    DESYNC = TOKAVG_ERR_DESYNC;
    /// Ranks did not arrive before the deadline.
    TIMEOUT = TOKAVG_ERR_TIMEOUT;
    /// The context was aborted, here or on another rank.
    ABORTED = TOKAVG_ERR_ABORTED;
    /// MPI, NCCL or the caller's transport reported an error, or cannot be reached.
    TRANSPORT = TOKAVG_ERR_TRANSPORT;
    /// The GPU reported an error.
    DEVICE = TOKAVG_ERR_DEVICE;
    /// No memory.
    MEMORY = TOKAVG_ERR_MEMORY;
    /// This version cannot do it.
    UNSUPPORTED = TOKAVG_ERR_UNSUPPORTED;
    /// The library was built without this part.
    NOT_BUILT = TOKAVG_ERR_NOT_BUILT;
    /// The handle was freed, or never came from this library.
    HANDLE = TOKAVG_ERR_HANDLE;
    /// A fault of the library itself.
    INTERNAL = TOKAVG_ERR_INTERNAL;
}

impl Status {
    /// Any value, also one that this crate does not know.
    pub const fn from_raw(value: i32) -> Status {
        Status(value)
    }

    /// The value of the C interface.
    pub const fn raw(self) -> i32 {
        self.0
    }

    /// Negative values are errors; [`Status::PENDING`], [`Status::EMPTY`] and remarks to come are not.
    pub const fn is_error(self) -> bool {
        self.0 < 0
    }

    /// Every rank learns of this error on the same ticket, skips the same optimiser step and goes on.
    pub fn ends_step(self) -> bool {
        [Status::PEER, Status::OVERFLOW, Status::WEIGHT, Status::COPIES].contains(&self)
    }

    /// The context has failed for good: drop it and stop, or restart from a checkpoint.
    pub fn ends_context(self) -> bool {
        [Status::TIMEOUT, Status::DESYNC, Status::ABORTED, Status::TRANSPORT, Status::DEVICE].contains(&self)
    }

    /// For instance `TOKAVG_ERR_TIMEOUT`; `TOKAVG_UNKNOWN_STATUS` for what the library does not know.
    pub fn name(self) -> &'static str {
        // SAFETY: the library answers every value with a static text.
        let name = unsafe { CStr::from_ptr(sys::tokavg_status_name(self.0)) };
        name.to_str().unwrap_or("TOKAVG_UNKNOWN_STATUS")
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
