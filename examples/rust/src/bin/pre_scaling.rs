// SPDX-License-Identifier: Apache-2.0
//! Scaling before backward: the counts are summed over the ranks while the forward passes run.
use tokavg::{Config, Gradient, Labels, Loss, Wait};
use tokavg_examples::{check, Mpi};

const MICROBATCHES: usize = 2;
const TOKENS: usize = 4;
/// A model of one weight w: the loss of a token is w * label, so that its slope is loss / w.
const W: f64 = 0.5;

/// Rank 0 scores 1 token of a microbatch, rank 1 two, ...: the ranks are uneven, as with real text.
fn label(rank: usize, m: usize, t: usize) -> i32 {
    if t <= rank % TOKENS {
        (1 + m + t) as i32
    } else {
        -100
    }
}

fn main() -> tokavg::Result<()> {
    let mpi = Mpi::start();
    let ctx = Config::new(mpi.world(), Gradient::Mean).init()?;

    let data: Vec<Vec<i32>> = (0..MICROBATCHES).map(|m| (0..TOKENS).map(|t| label(mpi.rank, m, t)).collect()).collect();
    for tokens in &data {
        ctx.count(&Labels::row(tokens))?;
    }
    let step = ctx.reduce()?; // returns at once

    let mut gradient = [0.0];
    for tokens in &data {
        let losses: Vec<f64> = tokens.iter().map(|&y| W * f64::from(y)).collect(); // forward; meanwhile the counts are summed
        let loss = step.loss(&Loss::tokens(&losses, &Labels::row(tokens)))?;
        gradient[0] += loss.backward / W; // loss.backward is what to call backward on
    }
    mpi.all_reduce(&mut gradient);
    gradient[0] /= mpi.ranks as f64; // this trainer averages gradients, as DDP does: Gradient::Mean

    ctx.flush()?; // to read the mean loss now; else the next reduce brings it
    let result = step.wait(Wait::Loss)?;
    let all = (0..mpi.ranks * MICROBATCHES * TOKENS)
        .map(|i| label(i / TOKENS / MICROBATCHES, i / TOKENS % MICROBATCHES, i % TOKENS));
    let scored: Vec<f64> = all.filter(|&y| y != -100).map(f64::from).collect(); // one process that has all the data
    let mean = scored.iter().sum::<f64>() / scored.len() as f64;
    check("mean loss", result.mean_loss(0), W * mean);
    check("gradient", gradient[0], mean);
    ctx.finalize()?;
    Ok(())
}
