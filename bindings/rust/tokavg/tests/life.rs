// SPDX-License-Identifier: Apache-2.0
//! Contexts, tickets, groups and abort handles end in any order, on any thread, also in a panic.
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokavg::*;

fn own() -> Context {
    Config::new(Comm::own(), Gradient::Mean).no_env().init().unwrap()
}

fn on_threads(ranks: i32, act: impl Fn(Context, i32) + Sync) {
    let group = Threads::new(ranks).unwrap();
    std::thread::scope(|scope| {
        for rank in 0..ranks {
            let (group, act) = (&group, &act);
            scope.spawn(move || {
                let config = Config::new(Comm::threads(group, rank), Gradient::Sum).timeout(Duration::from_secs(30));
                act(config.init().unwrap(), rank);
            });
        }
    });
}

#[test]
fn ranks_that_are_threads_agree() {
    on_threads(3, |ctx, rank| {
        ctx.count_add(0, 2 * rank as usize + 1, None, 1).unwrap();
        let step = ctx.reduce().unwrap();
        let values = step.loss(&Loss::mean(4.0 - f64::from(rank), 2 * rank as usize + 1)).unwrap();
        assert!((values.backward * 9.0 - values.sum).abs() < 1e-12);
        ctx.flush().unwrap();
        let result = step.wait(Wait::Loss).unwrap();
        assert!((result.mean_loss(0) - 23.0 / 9.0).abs() < 1e-12);
        assert_eq!(result.local_tokens(0), 2 * i64::from(rank) + 1);
        ctx.finalize().unwrap();
    });
}

#[test]
fn every_order_of_drops() {
    let group = Threads::new(1).unwrap();
    let ctx = Config::new(Comm::threads(&group, 0), Gradient::Mean).init().unwrap();
    let handle = ctx.abort_handle();
    let step = ctx.reduce().unwrap();
    let (id, copy) = (step.id(), step);
    let _ = step;
    drop(group); // before the context made from it
    copy.wait(Wait::Count).unwrap();
    drop(ctx);
    assert_eq!(handle.abort(), Status::HANDLE); // after the context
    let other = own(); // maybe at the same address
    assert_eq!(handle.abort(), Status::HANDLE);
    assert_eq!(other.ticket(id).wait(Wait::Count).unwrap_err().status(), Status::ARGUMENT);
    drop(other);
    own().finalize().map(drop).unwrap(); // no ticket at all
    drop(handle);
}

#[test]
fn abort_from_another_thread_ends_a_wait() {
    let (send, receive) = mpsc::channel::<AbortHandle>();
    let aborter = std::thread::spawn(move || {
        let handle = receive.recv().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        handle.abort()
    });
    let send = Mutex::new(Some(send));
    on_threads(2, |ctx, rank| {
        if rank == 1 {
            std::thread::sleep(Duration::from_millis(400));
            let error = ctx.reduce().and_then(|step| step.wait(Wait::Count)).unwrap_err();
            assert!([Status::ABORTED, Status::TIMEOUT].contains(&error.status()), "{error}");
            return;
        }
        send.lock().unwrap().take().unwrap().send(ctx.abort_handle()).unwrap();
        let error = ctx.reduce().unwrap().wait(Wait::Count).unwrap_err();
        assert_eq!(error.status(), Status::ABORTED, "{error}");
        assert_eq!(ctx.reduce().unwrap_err().ticket(), None); // sticky
    });
    assert_eq!(aborter.join().unwrap(), Status::OK);
}

#[test]
fn a_panic_between_calls_frees_the_context() {
    let watched = Arc::new(());
    let held = Arc::clone(&watched);
    let panicked = std::thread::spawn(move || {
        let ctx = Config::new(Comm::own(), Gradient::Mean).log(move |_, _| drop(Arc::clone(&held))).init().unwrap();
        let step = ctx.reduce().unwrap();
        assert_eq!(step.id().raw(), 0, "this panic is wanted");
    });
    assert!(panicked.join().is_err());
    assert_eq!(Arc::strong_count(&watched), 1); // what the context held is gone
}

/// A rank that panics leaves; the others do not hang: they get an error at the deadline at the latest.
#[test]
fn a_panic_of_one_rank_does_not_hang_the_others() {
    let group = Threads::new(2).unwrap();
    std::thread::scope(|scope| {
        let config = |rank| Config::new(Comm::threads(&group, rank), Gradient::Sum).timeout(Duration::from_millis(500));
        let panics = scope.spawn(move || {
            let _ctx = config(1).init().unwrap();
            panic!("this panic is wanted");
        });
        let ctx = config(0).init().unwrap();
        assert!(panics.join().is_err());
        let error = ctx.reduce().unwrap().wait(Wait::Count).unwrap_err();
        assert!(error.status().ends_context(), "{error}");
    });
}

thread_local! {
    static CURRENT: std::cell::RefCell<Option<std::rc::Rc<Context>>> = const { std::cell::RefCell::new(None) };
}

/// Neither a panic nor a call back reaches the library from inside a log callback.
#[test]
fn log_lines_arrive_and_their_callback_is_contained() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let (sink, answers) = (Arc::clone(&lines), Arc::new(Mutex::new(Vec::new())));
    let answered = Arc::clone(&answers);
    let config = Config::new(Comm::own(), Gradient::Mean).log(move |level, line| {
        sink.lock().unwrap().push((level, line.to_owned()));
        if let Some(ctx) = CURRENT.with(|current| current.borrow().clone()) {
            answered.lock().unwrap().push(ctx.progress().unwrap_err().status());
            answered.lock().unwrap().push(ctx.abort_handle().abort());
        }
        panic!("this panic is wanted");
    });
    let ctx = std::rc::Rc::new(config.init().unwrap());
    CURRENT.with(|current| *current.borrow_mut() = Some(std::rc::Rc::clone(&ctx)));
    // More losses than were counted: the audit warns.
    ctx.count_add(0, 1, None, 1).unwrap();
    ctx.loss(&Loss::sum(1.0f64, 2)).unwrap();
    let result = ctx.reduce().unwrap().wait(Wait::Count).unwrap();
    assert!(result.audit_failed() && result.audit_ticket().is_some());
    assert_eq!((result.audit_counted(), result.audit_recorded()), (1, 2));
    CURRENT.with(|current| *current.borrow_mut() = None);
    let _ = ctx.abort_handle().abort();
    ctx.reduce().unwrap_err();
    assert!(!lines.lock().unwrap().is_empty(), "no log line arrived");
    assert!(answers.lock().unwrap().iter().all(|&status| status == Status::STATE));
}

fn assert_send_sync<T: Send + Sync>() {}

#[test]
fn what_may_cross_threads() {
    assert_send_sync::<AbortHandle>();
    assert_send_sync::<Threads>();
    assert_send_sync::<Error>();
    assert_send_sync::<TicketId>();
}
