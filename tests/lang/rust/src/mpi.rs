// SPDX-License-Identifier: Apache-2.0
//! The little of MPI that lang_mpi.h offers.
use std::os::raw::c_void;

use tokavg::Comm;

extern "C" {
    fn lang_mpi_start(plain: i32) -> i32;
    fn lang_mpi_rank() -> i32;
    fn lang_mpi_size() -> i32;
    fn lang_mpi_split(ranks: i32) -> *const c_void;
    fn lang_mpi_split_fortran() -> i32;
    fn lang_mpi_free_split();
    fn lang_mpi_stop();
}

/// MPI from its initialisation to its end.
pub struct Mpi(());

impl Mpi {
    /// Once in a process.
    pub fn start() -> Mpi {
        unsafe { lang_mpi_start(0) };
        Mpi(())
    }

    pub fn rank(&self) -> i32 {
        unsafe { lang_mpi_rank() }
    }

    pub fn size(&self) -> i32 {
        unsafe { lang_mpi_size() }
    }

    /// Collective: a communicator of the first `ranks` ranks; None on the others.
    pub fn split(&self, ranks: i32) -> Option<Comm<'static>> {
        let comm = unsafe { lang_mpi_split(ranks) };
        (!comm.is_null()).then(|| unsafe { Comm::mpi_at(comm) })
    }

    /// The communicator of all ranks by its address, as Fortran names it, and by value: a handle of `size` bytes.
    pub fn worlds(&self, size: usize) -> [Comm<'static>; 3] {
        unsafe {
            let comm = lang_mpi_split(self.size());
            let by_value = match size {
                4 => Comm::mpi(&*comm.cast::<u32>()),
                _ => Comm::mpi(&*comm.cast::<*const c_void>()),
            };
            [Comm::mpi_at(comm), Comm::mpi_fortran(lang_mpi_split_fortran()), by_value]
        }
    }

    pub fn free_split(&self) {
        unsafe { lang_mpi_free_split() }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        unsafe { lang_mpi_stop() };
    }
}
