// SPDX-License-Identifier: Apache-2.0
use std::cell::Cell;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use crate::sys;

/// How much a log line matters, most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LogLevel {
    /// The context has failed.
    Error,
    /// Something is late or doubtful.
    Warning,
    /// Decisions taken once.
    Info,
    /// Each step.
    Debug,
}

type Sink = dyn Fn(LogLevel, &str) + Send + Sync;

/// Where a context sends its lines.
pub(crate) struct Logger {
    sink: Box<Sink>,
}

thread_local! {
    /// The logger whose sink runs on this thread: its context must not be called.
    static RUNNING: Cell<*const c_void> = const { Cell::new(ptr::null()) };
}

impl Logger {
    pub(crate) fn new(sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Logger {
        Logger { sink: Box::new(sink) }
    }

    fn address(&self) -> *const c_void {
        ptr::addr_of!(*self).cast()
    }

    pub(crate) fn is_running(&self) -> bool {
        RUNNING.with(Cell::get) == self.address()
    }

    /// The logger must outlive the context.
    pub(crate) fn write(&self, config: &mut sys::tokavg_config_t) {
        config.log = Some(receive);
        config.log_user = self.address() as *mut c_void;
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Logger")
    }
}

unsafe extern "C" fn receive(user: *mut c_void, level: i32, text: *const c_char) {
    let logger = &*user.cast::<Logger>();
    let level = match level as u32 {
        sys::TOKAVG_LOG_ERROR => LogLevel::Error,
        sys::TOKAVG_LOG_WARNING => LogLevel::Warning,
        sys::TOKAVG_LOG_INFO => LogLevel::Info,
        _ => LogLevel::Debug,
    };
    let outer = RUNNING.with(|running| running.replace(user));
    let panicked = catch_unwind(AssertUnwindSafe(|| (logger.sink)(level, &CStr::from_ptr(text).to_string_lossy())));
    RUNNING.with(|running| running.set(outer));
    // A panic must not reach the library, and neither must one of the payload's destructor.
    if let Err(payload) = panicked {
        std::mem::forget(payload);
    }
}
