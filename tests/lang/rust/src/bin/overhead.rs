// SPDX-License-Identifier: Apache-2.0
//! What the crate adds to a count and a reduce: both ways in turn, medians of many rounds.
use std::mem::{size_of, zeroed};
use std::ptr;
use std::time::Instant;

use tokavg::{sys, Comm, Config, Context, Gradient, Labels};

const ROUNDS: usize = 401;
const STEPS: usize = 200;
const MOST: f64 = 0.5e-6;

fn by_crate(ctx: &Context, tokens: &[i32]) {
    ctx.count(&Labels::new(tokens, 1, tokens.len()).shift(1)).unwrap();
    let _ = ctx.reduce().unwrap();
}

fn by_hand(ctx: *mut sys::tokavg_context_t, tokens: &[i32]) {
    unsafe {
        let mut labels: sys::tokavg_labels_t = zeroed();
        labels.struct_size = size_of::<sys::tokavg_labels_t>() as u32;
        (labels.rows, labels.cols, labels.shift) = (1, tokens.len() as i64, 1);
        labels.labels.data = tokens.as_ptr() as *mut _;
        labels.labels.dtype = sys::TOKAVG_DTYPE_I32 as i32;
        let mut ticket = 0;
        assert_eq!(sys::tokavg_count(ctx, &labels, ptr::null_mut()), 0);
        assert_eq!(sys::tokavg_reduce(ctx, ptr::null(), ptr::null_mut(), &mut ticket), 0);
    }
}

fn time(mut step: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..STEPS).for_each(|_| step());
    begin.elapsed().as_secs_f64() / STEPS as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let ctx = Config::new(Comm::own(), Gradient::Mean).no_env().init().unwrap();
    let tokens = vec![7; 64];
    let (mut safe, mut plain, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let run_safe = || time(|| by_crate(&ctx, &tokens));
        let run_plain = || time(|| by_hand(ctx.as_raw(), &tokens));
        // In turn, and each first in half of the rounds.
        let (s, p) = if round % 2 == 0 {
            let s = run_safe();
            (s, run_plain())
        } else {
            let p = run_plain();
            (run_safe(), p)
        };
        safe.push(s);
        plain.push(p);
        more.push(s - p);
    }
    let [safe, plain, more] = [safe, plain, more].map(|values| median(values) * 1e6);
    println!("count + reduce: crate {safe:.3} us, C interface {plain:.3} us, the crate adds {more:.3} us (median)");
    println!("goal (at most {} us more) met: {}", MOST * 1e6, more < MOST * 1e6);
}
