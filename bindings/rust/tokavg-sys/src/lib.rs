// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]

#[rustfmt::skip]
#[allow(non_camel_case_types, non_upper_case_globals, clippy::all)]
mod bindings;

pub use bindings::*;
