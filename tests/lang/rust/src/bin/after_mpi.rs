// SPDX-License-Identifier: Apache-2.0
//! Contexts that are dropped after MPI_Finalize, finalized or not: neither blocks nor crashes.
use tokavg::{Config, Gradient, Wait};
use tokavg_lang::mpi::Mpi;

fn main() -> tokavg::Result<()> {
    let mpi = Mpi::start();
    let world = mpi.split(mpi.size()).expect("this rank");
    let config = Config::new(world, Gradient::Mean);
    let (dropped, ended, left) = (config.init()?, config.init()?, config.init()?);
    mpi.free_split();
    for ctx in [&dropped, &ended, &left] {
        ctx.count_add(0, 1 + mpi.rank() as usize, None, 1)?;
        let _ = ctx.reduce()?;
    }
    let (kept, ranks) = (left.reduce()?, mpi.size());
    assert_eq!(kept.wait(Wait::Count)?.ranks(), ranks);
    drop(dropped);
    let ended = ended.finalize()?;
    drop(mpi);
    assert!(left.describe().starts_with('{'));
    let after = left.reduce().and_then(|step| step.wait(Wait::Count)).map(drop);
    println!("after MPI_Finalize: {after:?}");
    drop((left, ended));
    Ok(())
}
