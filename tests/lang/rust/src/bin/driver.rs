// SPDX-License-Identifier: Apache-2.0
//! driver self|mpi CASES OUT: the contract cases through the safe crate; ../../../README.md says what is done and written.
use std::fs::{read_to_string, File};
use std::io::{BufWriter, Result as IoResult, Write};
use std::time::Duration;

use tokavg::{Comm, Config, Context, FactorKind, Loss, Reduce, Result, Scale, StepResult, Ticket, Wait};
use tokavg_lang::cases::{self, AsDouble, Call, Case, Floats, RankInput, Step};
use tokavg_lang::mpi::Mpi;

#[derive(Clone, Copy, Default)]
struct Totals {
    backward: f64,
    sum: f64,
}

struct Driver {
    out: BufWriter<File>,
    after: bool,
}

fn bits(value: f64) -> String {
    format!("{:016x}", value.to_bits())
}

impl Driver {
    /// What should not have happened goes to the judge.
    fn ok<T>(&mut self, call: &str, result: Result<T>) -> Option<T> {
        if let Err(error) = &result {
            writeln!(self.out, "fault {call}: {}", error.to_string().replace('\n', " ")).expect("OUT");
        }
        result.ok()
    }

    fn record_as<T: AsDouble>(&mut self, at: At<'_>, call: &Call, losses: &Vec<T>, totals: &mut [Totals]) {
        let loss = Loss::tokens(losses, &call.labels());
        let done = match at {
            At::Open(ctx) => ctx.loss(&loss),
            At::Ticket(ticket) => ticket.loss(&loss),
        };
        if let (Some(values), false) = (self.ok("loss", done), call.discard) {
            totals[call.term].backward += values.backward.as_double();
            totals[call.term].sum += values.sum;
        }
    }

    fn record(&mut self, at: At<'_>, call: &Call, totals: &mut [Totals]) {
        match &call.losses {
            Some(Floats::Single(losses)) => self.record_as(at, call, losses, totals),
            Some(Floats::Double(losses)) => self.record_as(at, call, losses, totals),
            None => {}
        }
    }

    fn count(&mut self, ctx: &Context, input: &RankInput, totals: &mut [Totals]) {
        for (i, call) in input.calls.iter().enumerate() {
            self.ok("count", ctx.count(&call.labels()));
            if self.after {
                self.record(At::Open(ctx), call, totals);
            }
            let last = input.calls.get(i + 1).map_or(true, |next| !next.same);
            if call.discard && last {
                self.ok("discard", ctx.discard());
            }
        }
    }

    fn scaled(&mut self, step: Ticket<'_>, term: usize, factor: f64) -> String {
        let (mut wide, mut narrow) = if factor == 0.0 { ([f64::NAN], [f32::NAN]) } else { ([3.0], [3.0]) };
        self.ok("scale", step.scale(Scale::new().array(&mut wide).array(&mut narrow).term(term)));
        format!("{} {}", bits(wide[0]), bits(narrow[0].into()))
    }

    fn put_result(&mut self, step: Ticket<'_>, totals: &[Totals], result: &StepResult) -> IoResult<()> {
        for (term, total) in totals.iter().enumerate().take(result.terms()) {
            let factor = self.ok("factor", step.factor(term, FactorKind::Scale)).unwrap_or(f64::NAN);
            let report = self.ok("factor", step.factor(term, FactorKind::Report)).unwrap_or(f64::NAN);
            let (tokens, nonfinite) = (result.tokens(term), result.nonfinite(term));
            write!(self.out, "term {term} {tokens} {nonfinite} {}", result.loss_tokens(term))?;
            let numbers = [result.weight_sum(term), result.factor(term), factor, report, result.mean_loss(term)];
            for number in numbers.into_iter().chain([total.backward, total.sum]) {
                write!(self.out, " {}", bits(number))?;
            }
            let scaled = if self.after { self.scaled(step, term, factor) } else { "- -".into() };
            writeln!(self.out, " {scaled}")?;
        }
        let microbatch = self.ok("factor", step.factor(0, FactorKind::Microbatch)).unwrap_or(f64::NAN);
        write!(self.out, "end {} {}", result.microbatches(), bits(microbatch))?;
        write!(self.out, " {} {}", result.empty_ranks(), result.done_ranks())?;
        writeln!(self.out, " {} {} {}", result.failed_ranks(), result.ranks(), result.raw().flags)
    }

    fn run_step(&mut self, ctx: &Context, index: usize, step: &Step, rank: i32) -> IoResult<()> {
        let input = &step.ranks[rank as usize];
        let mut totals = [Totals::default(); 8];
        self.count(ctx, input, &mut totals);
        let ticket = match self.ok("reduce", ctx.reduce_with(&Reduce::new().done(input.done))) {
            Some(ticket) => ticket,
            None => return Ok(()),
        };
        if !self.after {
            for call in input.calls.iter().filter(|call| !step.error && !call.discard) {
                self.record(At::Ticket(ticket), call, &mut totals);
            }
            self.ok("flush", ctx.flush());
        }
        let waited = ticket.wait(if step.losses { Wait::Loss } else { Wait::Count });
        let status = waited.as_ref().map_or_else(|error| error.status(), StepResult::status);
        writeln!(self.out, "step {index} status {}", status.raw())?;
        waited.map_or(Ok(()), |result| self.put_result(ticket, &totals, &result))
    }

    fn run_case(&mut self, case: &Case, rank: i32, comm: Option<Comm<'_>>) -> IoResult<()> {
        let mode = if self.after { "after" } else { "before" };
        writeln!(self.out, "case {} {mode} rank {rank}", case.id)?;
        let wanted = &case.config;
        let comm = comm.filter(|_| !case.alone).unwrap_or(Comm::own());
        let copies = wanted.label_copies;
        let config = Config::new(comm, wanted.gradient)
            .gradient_ranks(wanted.gradient_ranks)
            .label_copies(copies, if copies > 1 { rank % copies } else { 0 })
            .microbatch_shards(wanted.microbatch_shards)
            .divisor(wanted.divisor)
            .terms(wanted.terms)
            .ignore_index(wanted.ignore_index)
            .accumulation_divisor(wanted.accumulation_divisor)
            .asks_only(case.steps[0].ranks[rank as usize].asks)
            .timeout(Duration::from_secs(60));
        let ctx = match self.ok("init", config.init()) {
            Some(ctx) => ctx,
            None => return Ok(()),
        };
        for (index, step) in case.steps.iter().enumerate() {
            self.run_step(&ctx, index, step, rank)?;
        }
        self.ok("finalize", ctx.finalize());
        Ok(())
    }

    fn run(&mut self, case: &Case, mpi: Option<&Mpi>) -> IoResult<()> {
        let mpi = match mpi {
            Some(mpi) => mpi,
            None => {
                let ranks = if case.ranks == 1 || case.alone { case.ranks } else { 0 };
                return (0..ranks).try_for_each(|rank| self.run_case(case, rank, None));
            }
        };
        if case.ranks <= mpi.size() {
            if let Some(comm) = mpi.split(case.ranks) {
                self.run_case(case, mpi.rank(), Some(comm))?;
            }
            mpi.free_split();
        }
        Ok(())
    }
}

/// Where losses are recorded.
enum At<'a> {
    Open(&'a Context),
    Ticket(Ticket<'a>),
}

fn main() -> IoResult<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let (mode, cases, out) = match &arguments[..] {
        [_, mode, cases, out] => (mode, cases, out),
        _ => panic!("usage: driver self|mpi CASES OUT"),
    };
    let mpi = (mode == "mpi").then(Mpi::start);
    let rank = mpi.as_ref().map_or(0, Mpi::rank);
    let mut driver = Driver { out: BufWriter::new(File::create(format!("{out}.{rank}"))?), after: false };
    for case in cases::read(&read_to_string(cases)?) {
        for after in [false, true] {
            driver.after = after;
            driver.run(&case, mpi.as_ref())?;
        }
    }
    driver.out.flush()
}
