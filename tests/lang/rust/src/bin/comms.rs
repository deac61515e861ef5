// SPDX-License-Identifier: Apache-2.0
//! comms BYTES: a communicator by its address, as Fortran names it, and by value, where an MPI_Comm has so many bytes.
use tokavg::{Config, Gradient, Wait};
use tokavg_lang::mpi::Mpi;

fn main() -> tokavg::Result<()> {
    let bytes = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("the size of an MPI_Comm");
    let mpi = Mpi::start();
    let (n, rank) = (i64::from(mpi.size()), mpi.rank());
    for comm in mpi.worlds(bytes) {
        let ctx = Config::new(comm, Gradient::Mean).init()?;
        ctx.count_add(0, 1 + rank as usize, None, 1)?;
        let result = ctx.reduce()?.wait(Wait::Count)?;
        assert_eq!((result.tokens(0), i64::from(result.ranks())), (n * (n + 1) / 2, n));
        ctx.finalize()?;
    }
    mpi.free_split();
    Ok(())
}
