// SPDX-License-Identifier: Apache-2.0
//! For the examples: the little of MPI that they need (a trainer has the crate `mpi` for that), and a check by hand.
use std::os::raw::c_void;

use tokavg::Comm;

extern "C" {
    fn lang_mpi_start(plain: i32) -> i32;
    fn lang_mpi_rank() -> i32;
    fn lang_mpi_size() -> i32;
    fn lang_mpi_split(ranks: i32) -> *const c_void;
    fn lang_mpi_sum(values: *mut f64, count: i32);
    fn lang_mpi_stop();
}

/// MPI, from MPI_Init to MPI_Finalize.
pub struct Mpi {
    pub rank: usize,
    pub ranks: usize,
}

impl Mpi {
    pub fn start() -> Mpi {
        unsafe {
            lang_mpi_start(0);
            Mpi { rank: lang_mpi_rank() as usize, ranks: lang_mpi_size() as usize }
        }
    }

    /// With the crate `mpi`: `unsafe { Comm::mpi(&world.as_raw()) }`.
    pub fn world(&self) -> Comm<'static> {
        unsafe { Comm::mpi_at(lang_mpi_split(self.ranks as i32)) }
    }

    /// MPI_Allreduce of a sum, in place.
    pub fn all_reduce(&self, values: &mut [f64]) {
        unsafe { lang_mpi_sum(values.as_mut_ptr(), values.len() as i32) }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        unsafe { lang_mpi_stop() }
    }
}

/// A number that is not what was worked out by hand ends the program.
pub fn check(what: &str, got: f64, by_hand: f64) {
    println!("{what}: {got:.9} (by hand: {by_hand:.9})");
    assert!((got - by_hand).abs() <= 1e-6 * by_hand.abs(), "{what}");
}
