// SPDX-License-Identifier: Apache-2.0
//! Steps on one rank: what goes in, and what comes out.
use tokavg::*;

fn own(gradient: Gradient) -> Context {
    Config::new(Comm::own(), gradient).no_env().init().unwrap()
}

#[test]
fn counts_strides_masks_weights_and_both_integers() {
    let ctx = own(Gradient::Mean);
    let narrow = [1i32, 2, -100, 4, 5, 6];
    let wide: Vec<i64> = narrow.iter().map(|&label| i64::from(label)).collect();
    let count = |labels: &Labels| {
        ctx.count(labels).unwrap();
        ctx.reduce().unwrap().wait(Wait::Count).unwrap()
    };
    assert_eq!(count(&Labels::new(&narrow, 2, 3)).tokens(0), 5);
    assert_eq!(count(&Labels::new(&wide, 2, 3).shift(1)).tokens(0), 3);
    assert_eq!(count(&Labels::row(&wide).mask(&[true, false, true, true, false, true])).tokens(0), 3);
    assert_eq!(count(&Labels::row(&wide).mask(&[1u8, 0, 1, 1, 0, 2])).tokens(0), 3);
    // Columns become rows, the last one comes first: 6, 4 and so on.
    let reversed = View::strided(&narrow, 5, -1, -3);
    assert_eq!(count(&Labels::new(reversed, 3, 2).shift(1)).tokens(0), 2);
    let weighted = count(&Labels::row(&narrow).weights(&[0.5f32, 0.5, 9.0, 1.0, 1.0, 1.0]));
    assert_eq!((weighted.tokens(0), weighted.weight_sum(0)), (5, 4.0));
    let empty = count(&Labels::row::<i32>(&[]));
    assert!(empty.is_empty() && !empty.is_pending());
    assert_eq!((empty.status(), empty.factor(0), empty.mean_loss(0)), (Status::EMPTY, 0.0, 0.0));
    ctx.finalize().unwrap();
}

#[test]
fn losses_before_backward() {
    let ctx = own(Gradient::Sum);
    let labels = Labels::row(&[1, -100, 2, 3]);
    ctx.count(&labels).unwrap();
    ctx.count_add(0, 3, None, 1).unwrap();
    ctx.count_add(0, 2, None, 1).unwrap();
    let step = ctx.reduce().unwrap();
    let each = step.loss(&Loss::tokens(&[1.0f32, f32::NAN, 2.0, 3.0], &labels).loss_scale(2.0)).unwrap();
    assert_eq!(each, Values { backward: 1.5, sum: 6.0 });
    assert_eq!(step.loss(&Loss::sum(4.0f64, 3)).unwrap(), Values { backward: 0.5, sum: 4.0 });
    assert_eq!(step.record_loss(&Loss::mean(3.0f32, 2)).unwrap(), 6.0);
    assert!(step.poll(Wait::Loss).unwrap().is_pending());
    assert!(ctx.last_error().contains("tokavg_flush"));
    ctx.flush().unwrap();
    let result = step.wait(Wait::Loss).unwrap();
    assert!(result.loss_ready() && !result.audit_failed() && !result.unaudited());
    assert_eq!((result.mean_loss(0), result.loss_tokens(0), result.microbatches()), (2.0, 8, 3));
    assert_eq!(step.factor(0, FactorKind::Report).unwrap(), 0.125);
    let refused = step.scale(Scale::new().array(&mut [1f32])).unwrap_err();
    assert_eq!(refused.status(), Status::STATE, "{refused}");
    step.release().unwrap();
    assert_eq!(ctx.ticket(step.id()).wait(Wait::Count).unwrap_err().status(), Status::STALE);
    // The refused call is a failure that no step has reported yet.
    assert_eq!(ctx.finalize().unwrap_err().status(), Status::STATE);
}

#[test]
fn terms_discard_and_scaling_after_backward() {
    let ctx = Config::new(Comm::own(), Gradient::Mean).terms(2).gradient_ranks(3).no_env().init().unwrap();
    assert_eq!(ctx.terms(), 2);
    ctx.count(&Labels::row(&[1, 2])).unwrap();
    ctx.count(&Labels::row(&[1, 2, 3, 4]).term(1).same_microbatch()).unwrap();
    assert_eq!(ctx.loss(&Loss::sum_of_counted(5.0f64)).unwrap().backward, 5.0);
    ctx.count(&Labels::row(&[7, 7, 7])).unwrap();
    ctx.discard().unwrap();
    let options = Reduce::new().step_id(41).accumulation_divisor(4.0);
    let step = ctx.reduce_with(&options).unwrap();
    let (mut wide, mut narrow, mut half) = ([1f64, f64::NAN], vec![2f32; 3], [0x3F80u16, 0x4000]);
    let parts = narrow.chunks_mut(2);
    step.scale(Scale::new().array(&mut wide).arrays(parts).array(Bf16::from_bits_mut(&mut half))).unwrap();
    assert_eq!((wide[0], &narrow[..], half), (6.0, &[12.0f32; 3][..], [0x40C0, 0x4140])); // 3 * 4 / 2
    let mut again = [1f64];
    step.scale(Scale::new().array(&mut again).term(1).kind(FactorKind::Report).factor(2.0)).unwrap();
    assert_eq!(again, [0.5]);
    let result = step.wait(Wait::Count).unwrap();
    assert_eq!((result.step_id(), result.tokens(0), result.tokens(1), result.microbatches()), (41, 2, 4, 1));
    let id = step.id();
    assert_eq!((id, result.ticket()), (TicketId::from_raw(1), id));
    let ended = ctx.finalize().unwrap();
    assert_eq!(ended.ticket(id).factor(1, FactorKind::Scale).unwrap(), 3.0);
    assert_eq!(ended.ticket(id).loss(&Loss::sum(1.0f32, 1)).unwrap_err().status(), Status::STATE);
    assert!(ended.describe().starts_with('{'));
}

#[test]
fn cross_entropy_outputs_and_types() {
    let ctx = own(Gradient::Sum);
    let labels = Labels::new(&[9, 1, 9, 2], 2, 2).shift(1).label_base(1);
    let logits = [0f32, 1.0, 5.0, 5.0, 2.0, 0.0, 7.0, 7.0];
    let [mut losses, mut lse, mut argmax] = [[1f32; 4]; 3].map(|row| row.to_vec());
    let mut gradient = [9f32; 12];
    ctx.count(&labels).unwrap();
    let step = ctx.reduce().unwrap();
    let mut classes: Vec<i32> = argmax.drain(..).map(|_| 7).collect();
    let ce = CrossEntropy::new(&logits, 2, &labels)
        .gradient(ViewMut::strided(&mut gradient, 0, 6, 3))
        .losses(&mut losses)
        .lse(&mut lse)
        .argmax(&mut classes);
    let values = step.cross_entropy(ce).unwrap();
    assert_eq!(classes, [2, -1, 1, -1]);
    assert_eq!((losses[0], losses[2], lse[1], lse[3]), (0.0, 0.0, 0.0, 0.0));
    let lse0 = 1f64.exp().ln_1p();
    assert!((f64::from(losses[1]) - lse0).abs() < 1e-6 && (f64::from(lse[0]) - lse0).abs() < 1e-6);
    assert!((values.sum - f64::from(losses[1]) - f64::from(losses[3])).abs() < 1e-6);
    assert!((f64::from(values.backward) * 2.0 - values.sum).abs() < 1e-6);
    // Rows of 2 classes, 3 elements apart: what lies between is not touched, what is not read has gradient 0.
    assert_eq!((gradient[2], &gradient[3..5], gradient[5]), (9.0, &[0.0, 0.0][..], 9.0));
    assert!((gradient[0] + gradient[1]).abs() < 1e-6 && gradient[1] > 0.3);

    for smoothing in [0.0, 0.1] {
        let mut half = [0u16, 0x3F80]; // 0 and 1 as bfloat16
        let one = Labels::row(&[0]);
        let ce = CrossEntropy::in_place(Bf16::from_bits_mut(&mut half), 2, &one).label_smoothing(smoothing);
        let sum = ctx.cross_entropy(ce.z_loss(0.0).logit_softcap(30.0)).unwrap().sum;
        assert!(sum > 1.2 && sum < 1.4 && half[1] != 0x3F80, "{sum}");
        let ce = CrossEntropy::new(F16::from_bits(&[0, 0x3C00]), 2, &one).label_smoothing(smoothing);
        assert!((ctx.cross_entropy(ce).unwrap().sum - 1.3).abs() < 0.1);
    }
}

#[test]
fn evaluation_without_gradient_and_done() {
    let ctx = own(Gradient::Sum);
    let labels = Labels::row(&[0]);
    ctx.count(&labels).unwrap();
    ctx.cross_entropy(CrossEntropy::new(&[0f32, 0.0], 2, &labels)).unwrap();
    let step = ctx.reduce_with(&Reduce::new().done(true)).unwrap();
    let result = step.wait(Wait::Loss).unwrap();
    assert!((result.mean_loss(0) - 2f64.ln()).abs() < 1e-6);
    assert!(result.all_done() && result.label_ranks() == 1 && result.ranks() == 1 && result.failed_rank().is_none());
    ctx.progress().unwrap();
    assert_eq!(ctx.count(&labels).unwrap_err().status(), Status::STATE);
    assert!(ctx.describe().contains("\"version\"") && describe().contains(version()));
    assert_eq!(abi_version(), sys::TOKAVG_ABI_VERSION as i32);
}
