// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod abort;
mod array;
mod comm;
mod config;
mod context;
mod cross_entropy;
mod element;
mod error;
mod labels;
mod log;
mod loss;
mod record;
mod reduce;
mod result;
mod scale;
mod status;
mod text;
mod threads;
mod ticket;

pub use abort::AbortHandle;
pub use array::{View, ViewMut};
pub use comm::Comm;
pub use config::{Config, Device, Divisor, Gradient, Progress, Transport};
pub use context::{Context, Finalized};
pub use cross_entropy::CrossEntropy;
pub use element::{Bf16, Element, GradientType, LabelType, LogitType, LossType, MaskType, F16};
pub use error::{Error, Result};
pub use labels::Labels;
pub use log::LogLevel;
pub use loss::{Loss, Values};
pub use reduce::Reduce;
pub use result::StepResult;
pub use scale::Scale;
pub use status::Status;
pub use threads::Threads;
pub use ticket::{FactorKind, Ticket, TicketId, Wait};
/// The C interface.
pub use tokavg_sys as sys;

/// The version of the library that was loaded, for instance "1.0.0".
pub fn version() -> &'static str {
    // SAFETY: a static text.
    unsafe { std::ffi::CStr::from_ptr(sys::tokavg_version()) }.to_str().unwrap_or("")
}

/// The version of its binary interface; this crate is written for [`sys::TOKAVG_ABI_VERSION`].
pub fn abi_version() -> i32 {
    // SAFETY: no arguments.
    unsafe { sys::tokavg_abi_version() }
}

/// The library as one JSON object: version, build, devices, transports, MPI.
pub fn describe() -> String {
    text::describe(std::ptr::null_mut())
}

/// What does not fit becomes a value that the library refuses, with a text.
fn as_i32(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn as_i64(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Rounded up, so that a short time does not become "none".
fn as_ms(time: std::time::Duration) -> i64 {
    i64::try_from((time.as_nanos() + 999_999) / 1_000_000).unwrap_or(i64::MAX)
}
