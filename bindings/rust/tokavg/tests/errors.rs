// SPDX-License-Identifier: Apache-2.0
//! Errors arrive with status and text, and what Rust refuses reaches the other ranks like what the library refuses.
use std::time::Duration;

use tokavg::*;

fn own() -> Context {
    Config::new(Comm::own(), Gradient::Mean).no_env().init().unwrap()
}

#[test]
fn the_text_of_the_library_arrives() {
    let error = Config::new(Comm::own(), Gradient::Mean).terms(9).init().unwrap_err();
    assert_eq!(error.status(), Status::CONFIG);
    assert!(error.text().contains("terms is 9"), "{error}");
    assert!(error.to_string().starts_with("TOKAVG_ERR_CONFIG: "));
    let as_std: Box<dyn std::error::Error + Send + Sync> = error.into();
    assert!(as_std.to_string().contains("terms"));

    let ctx = own();
    let error = ctx.count(&Labels::row(&[1]).term(3)).unwrap_err();
    assert_eq!(error.status(), Status::ARGUMENT);
    assert!(error.text().contains("term is 3"), "{error}");
    assert_eq!(ctx.last_error(), error.text());
    // A text longer than the first buffer.
    assert!(describe().len() > 512 || ctx.describe().len() > 512);
    assert!(Threads::new(0).unwrap_err().text().contains("ranks"));
}

#[test]
fn unknown_values_of_status() {
    for value in [-20, -1000, i32::MIN, 3, i32::MAX] {
        let status = Status::from_raw(value);
        assert_eq!((status.raw(), status.is_error()), (value, value < 0));
        assert_eq!(status.name(), "TOKAVG_UNKNOWN_STATUS");
        assert!(!status.ends_step() && !status.ends_context());
        assert_eq!(format!("{status:?}"), format!("TOKAVG_UNKNOWN_STATUS({value})"));
    }
    assert_eq!(Status::STALE.to_string(), "TOKAVG_ERR_STALE");
    assert!(Status::PEER.ends_step() && Status::TIMEOUT.ends_context() && !Status::EMPTY.is_error());
}

/// What only Rust can know: that a slice is too short. The open step is marked, so that other ranks learn of it.
#[test]
fn short_slices_are_refused_and_mark_the_step() {
    let marks = |name: &str, act: &dyn Fn(&Context) -> Result<()>| {
        let ctx = own();
        ctx.count(&Labels::row(&[1])).unwrap();
        let error = act(&ctx).unwrap_err();
        assert_eq!(error.status(), Status::ARGUMENT, "{error}");
        assert!(error.text().starts_with(name), "{error}");
        let failed = ctx.reduce().unwrap().wait(Wait::Count).unwrap_err();
        assert_eq!(failed.status(), Status::ARGUMENT, "{failed}");
        assert_eq!(failed.result().unwrap().failed_ranks(), 1);
        ctx.reduce().unwrap().wait(Wait::Count).unwrap(); // the next step is sound
    };
    let six = [0; 6];
    let labels = Labels::new(&six, 2, 3);
    let short = [0f32; 5];
    marks("labels", &|ctx| ctx.count(&Labels::new(&six, 2, 4)));
    marks("labels", &|ctx| ctx.count(&Labels::new(&six, usize::MAX, usize::MAX)));
    marks("labels", &|ctx| ctx.count(&Labels::new(View::strided(&six, 0, -3, 1), 2, 3)));
    marks("labels", &|ctx| ctx.count(&Labels::new(View::strided(&six, 1, 3, 1), 2, 3)));
    marks("labels", &|ctx| ctx.count(&Labels::new(View::strided(&six, 0, isize::MAX, isize::MIN), 2, 3)));
    marks("mask", &|ctx| ctx.count(&Labels::new(&six, 2, 3).mask(&[1u8; 5])));
    marks("weights", &|ctx| ctx.count(&Labels::new(&six, 2, 3).weights(&short)));
    marks("weight_sum", &|ctx| ctx.count_add(0, 5, Some(0.0), 1));
    marks("losses", &|ctx| ctx.loss(&Loss::tokens(&short, &labels)).map(drop));
    marks("losses", &|ctx| ctx.loss(&Loss::all(&short, 2, 3)).map(drop));
    marks("loss_scale", &|ctx| ctx.loss(&Loss::sum(1f64, 1).loss_scale(0.0)).map(drop));
    marks("logits", &|ctx| ctx.cross_entropy(CrossEntropy::new(&[0f32; 11], 2, &labels)).map(drop));
    marks("gradient", &|ctx| {
        let mut gradient = [0f32; 12];
        let overlapping = ViewMut::strided(&mut gradient, 0, 2, 1);
        ctx.cross_entropy(CrossEntropy::new(&[0f32; 12], 2, &labels).gradient(overlapping)).map(drop)
    });
    marks("argmax", &|ctx| ctx.cross_entropy(CrossEntropy::new(&[0f32; 12], 2, &labels).argmax(&mut [0; 5])).map(drop));
}

/// The other rank learns of what this one never showed the library.
#[test]
fn a_short_slice_is_a_failed_peer_elsewhere() {
    let group = Threads::new(2).unwrap();
    let step = |rank: i32| {
        let ctx = Config::new(Comm::threads(&group, rank), Gradient::Mean).init().unwrap();
        let counted = ctx.count(&Labels::new(&[1, 2, 3], 1, 3 + rank as usize));
        let status = ctx.reduce().unwrap().wait(Wait::Count).map_err(|error| error.status());
        let next = ctx.reduce().unwrap().wait(Wait::Count).map(|result| result.status());
        (counted.is_ok(), status.unwrap_err(), next.unwrap())
    };
    let (sound, failed) = std::thread::scope(|scope| {
        let failed = scope.spawn(|| step(1));
        (step(0), failed.join().unwrap())
    });
    assert_eq!(sound, (true, Status::PEER, Status::EMPTY));
    assert_eq!(failed, (false, Status::ARGUMENT, Status::EMPTY));
}

#[test]
fn a_reduce_that_fails_gives_its_ticket() {
    let ctx = own();
    for divisor in [-1.0, 0.0, f64::INFINITY] {
        let error = ctx.reduce_with(&Reduce::new().accumulation_divisor(divisor)).unwrap_err();
        assert_eq!(error.status(), Status::ARGUMENT);
        assert!(error.text().contains("accumulation_divisor"), "{error}");
        let ticket = ctx.ticket(error.ticket().unwrap());
        assert_eq!(ticket.wait(Wait::Count).unwrap_err().status(), Status::ARGUMENT);
    }
    let error = ctx.ticket(TicketId::from_raw(99)).wait(Wait::Count).unwrap_err();
    assert_eq!((error.status(), error.result().is_none()), (Status::ARGUMENT, true));
}

#[test]
fn scaling_by_zero_is_refused() {
    let ctx = own();
    let step = ctx.reduce().unwrap();
    let mut array = [1f64];
    let error = step.scale(Scale::new().array(&mut array).factor(0.0)).unwrap_err();
    assert_eq!((error.status(), array), (Status::ARGUMENT, [1.0]));
}

#[test]
fn device_memory_is_not_for_a_host() {
    // What a build with CUDA lacks is only a context that works there.
    let cuda = describe().contains("\"cuda\": true");
    let expected = if cuda { Status::UNSUPPORTED } else { Status::NOT_BUILT };
    let ctx = own();
    let address = std::ptr::null::<f32>().wrapping_add(64);
    let losses = unsafe { View::device(address, 0, 0) };
    let error = ctx.loss(&Loss::all(losses, 1, 1)).unwrap_err();
    assert_eq!(error.status(), Status::ARGUMENT, "{error}");
    let null = std::ptr::null_mut();
    let error = unsafe { ctx.loss_device(&Loss::all(losses, 1, 1), null, null.cast()) }.unwrap_err();
    assert_eq!(error.status(), expected, "{error}");
    assert!(error.text().contains("CUDA"));
    let labels = unsafe { View::device(address.cast::<i32>(), 0, 0) };
    assert_eq!(ctx.count(&Labels::new(labels, 1, 1)).unwrap_err().status(), expected);
    let step = ctx.reduce().unwrap();
    assert_eq!(
        step.factor_device(0, FactorKind::Scale).unwrap_err().status(),
        if cuda { Status::STATE } else { Status::NOT_BUILT }
    );
}

#[test]
fn a_deadline_names_the_rank_that_is_late() {
    let group = Threads::new(2).unwrap();
    let config = |rank| Config::new(Comm::threads(&group, rank), Gradient::Mean).timeout(Duration::from_millis(300));
    let error = std::thread::scope(|scope| {
        let late = scope.spawn(|| {
            let ctx = config(1).init().unwrap();
            std::thread::sleep(Duration::from_millis(600));
            ctx.reduce().map(|step| step.id()).is_ok()
        });
        let ctx = config(0).init().unwrap();
        let step = ctx.reduce().unwrap();
        assert!(step.poll(Wait::Count).unwrap().is_pending());
        assert!(step.wait_for(Wait::Count, Duration::from_micros(1)).unwrap().is_pending());
        let error = step.wait(Wait::Count).unwrap_err();
        let _ = late.join().unwrap();
        error
    });
    assert_eq!(error.status(), Status::TIMEOUT);
    assert!(error.text().contains("1"), "{error}");
    assert!(error.result().is_some());
}
