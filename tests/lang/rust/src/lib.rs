// SPDX-License-Identifier: Apache-2.0
//! What the programs of this folder share. The code of the guide is tested here, too.
pub mod cases;
pub mod mpi;

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/languages/rust.md")]
pub struct Guide;
