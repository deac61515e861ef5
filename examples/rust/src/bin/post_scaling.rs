// SPDX-License-Identifier: Apache-2.0
//! Scaling after backward: data streams in, nobody knows how much is left, and the gradients are scaled at the end.
use tokavg::{Config, Gradient, Labels, Loss, Scale, Wait};
use tokavg_examples::{check, Mpi};

const LONGEST: usize = 8;
/// A model of one weight w: the loss of a token is w * label, so that its slope is the label.
const W: f64 = 0.5;

/// Rank r finds r microbatches of 1, 2, ... tokens; rank 0 finds none and takes part all the same.
fn microbatches(rank: usize) -> impl Iterator<Item = Vec<i32>> {
    let label = move |m: usize, t: usize| if t <= m % LONGEST { (1 + rank + t) as i32 } else { -100 };
    (0..rank).map(move |m| (0..LONGEST).map(|t| label(m, t)).collect())
}

fn main() -> tokavg::Result<()> {
    let mpi = Mpi::start();
    let ctx = Config::new(mpi.world(), Gradient::Sum).init()?;

    let mut gradient = [0.0];
    for tokens in microbatches(mpi.rank) {
        ctx.count(&Labels::row(&tokens))?;
        let scored: Vec<f64> = tokens.iter().filter(|&&y| y != -100).map(|&y| f64::from(y)).collect();
        let sum = W * scored.iter().sum::<f64>(); // forward and backward of the sum: nothing is divided yet
        gradient[0] += sum / W;
        ctx.loss(&Loss::sum(sum, scored.len()))?;
    }
    let step = ctx.reduce()?; // the counts are summed while the gradients are
    mpi.all_reduce(&mut gradient);
    step.scale(Scale::new().array(&mut gradient))?; // before clipping and the optimiser

    let result = step.wait(Wait::Loss)?;
    let all = (0..mpi.ranks).flat_map(microbatches).flatten(); // one process that has all the data
    let scored: Vec<f64> = all.filter(|&y| y != -100).map(f64::from).collect();
    let mean = scored.iter().sum::<f64>() / scored.len().max(1) as f64;
    check("mean loss", result.mean_loss(0), W * mean);
    check("gradient", gradient[0], mean);
    ctx.finalize()?;
    Ok(())
}
