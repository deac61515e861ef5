// SPDX-License-Identifier: Apache-2.0
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::c_void;
use std::ptr;

use crate::{sys, Threads};

/// How the ranks of a context reach one another.
#[derive(Clone, Copy, Debug)]
pub struct Comm<'a> {
    kind: u32,
    at: Where,
    fortran: i32,
    rank: i32,
    life: PhantomData<&'a Threads>,
}

#[derive(Clone, Copy, Debug)]
enum Where {
    Pointer(*const c_void),
    /// The bytes of an MPI_Comm. The library wants their address, which is settled when the context is made.
    Handle(u64),
}

/// An MPI_Comm is an int (MPICH) or a pointer (Open MPI).
struct IsHandle<T>(PhantomData<T>);
impl<T> IsHandle<T> {
    const CHECK: () = assert!(size_of::<T>() == 4 || size_of::<T>() == 8, "an MPI_Comm has 4 or 8 bytes");
}

impl<'a> Comm<'a> {
    const fn new(kind: u32, at: Where) -> Comm<'a> {
        Comm { kind, at, fortran: 0, rank: 0, life: PhantomData }
    }

    /// One rank: this one.
    pub const fn own() -> Comm<'static> {
        Comm::new(sys::TOKAVG_COMM_SELF, Where::Pointer(ptr::null()))
    }

    /// Ranks that are threads of this process; `rank` is this thread's.
    pub fn threads(group: &'a Threads, rank: i32) -> Comm<'a> {
        Comm { rank, ..Comm::new(sys::TOKAVG_COMM_THREADS, Where::Pointer(group.as_ptr() as *const c_void)) }
    }

    /// An MPI communicator, as whatever type your MPI crate gives the raw handle: `unsafe { Comm::mpi(&world.as_raw()) }`.
    /// The library works on its own duplicate.
    ///
    /// # Safety
    /// It must be the MPI_Comm of an intracommunicator of the MPI in this process, valid until the context is made.
    pub unsafe fn mpi<T: Copy>(comm: &T) -> Comm<'static> {
        #[allow(clippy::let_unit_value)]
        let () = IsHandle::<T>::CHECK;
        let mut handle = 0u64;
        ptr::copy_nonoverlapping(ptr::addr_of!(*comm).cast::<u8>(), ptr::addr_of_mut!(handle).cast(), size_of::<T>());
        Comm::new(sys::TOKAVG_COMM_MPI, Where::Handle(handle))
    }

    /// An MPI communicator, by its address: an `MPI_Comm *`.
    ///
    /// # Safety
    /// As for [`mpi`](Comm::mpi); the address, too, must be valid until the context is made.
    pub unsafe fn mpi_at(address: *const c_void) -> Comm<'static> {
        Comm::new(sys::TOKAVG_COMM_MPI, Where::Pointer(address))
    }

    /// An MPI communicator as Fortran names it.
    ///
    /// # Safety
    /// As for [`mpi`](Comm::mpi).
    pub unsafe fn mpi_fortran(comm: i32) -> Comm<'static> {
        Comm { fortran: comm, ..Comm::new(sys::TOKAVG_COMM_MPI_FORTRAN, Where::Pointer(ptr::null())) }
    }

    /// An `ncclComm_t`.
    ///
    /// # Safety
    /// It must live as long as the context.
    pub unsafe fn nccl(comm: *mut c_void) -> Comm<'static> {
        Comm::new(sys::TOKAVG_COMM_NCCL, Where::Pointer(comm))
    }

    /// A transport of your own; see `transport_plugin.h`.
    ///
    /// # Safety
    /// The table must do what `transport_plugin.h` asks. It is read while the context is made; what its `user` points to
    /// must live as long as the context.
    pub unsafe fn caller(table: *const sys::tokavg_transport_t) -> Comm<'static> {
        Comm::new(sys::TOKAVG_COMM_CALLER, Where::Pointer(table.cast()))
    }

    /// Writes the fields of a configuration, which must not outlive self.
    pub(crate) fn write(&self, config: &mut sys::tokavg_config_t) {
        config.comm_kind = self.kind as i32;
        config.comm_fortran = self.fortran;
        config.comm_rank = self.rank;
        config.comm = match &self.at {
            Where::Pointer(pointer) => *pointer,
            Where::Handle(handle) => ptr::addr_of!(*handle).cast(),
        };
    }
}
