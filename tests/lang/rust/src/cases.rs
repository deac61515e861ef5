// SPDX-License-Identifier: Apache-2.0
//! The contract cases as ../../README.md writes them, read word by word. A file that is something else ends the program.
use std::str::SplitAsciiWhitespace;

use tokavg::{Divisor, Gradient, Labels, LossType};

pub struct Case {
    pub id: String,
    pub ranks: i32,
    pub alone: bool,
    pub config: CaseConfig,
    pub steps: Vec<Step>,
}

pub struct CaseConfig {
    pub gradient: Gradient,
    pub gradient_ranks: i32,
    pub label_copies: i32,
    pub microbatch_shards: i32,
    pub divisor: Divisor,
    pub terms: usize,
    pub ignore_index: i64,
    pub accumulation_divisor: f64,
}

pub struct Step {
    pub error: bool,
    pub losses: bool,
    pub ranks: Vec<RankInput>,
}

pub struct RankInput {
    pub done: bool,
    pub asks: bool,
    pub calls: Vec<Call>,
}

pub enum Integers {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

pub enum Floats {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

pub struct Call {
    rows: usize,
    cols: usize,
    shift: usize,
    pub term: usize,
    pub same: bool,
    pub discard: bool,
    labels: Integers,
    pub losses: Option<Floats>,
    weights: Option<Floats>,
    mask: Option<Vec<u8>>,
}

impl Call {
    pub fn labels(&self) -> Labels<'_> {
        let mut labels = match &self.labels {
            Integers::Narrow(labels) => Labels::new(labels, self.rows, self.cols),
            Integers::Wide(labels) => Labels::new(labels, self.rows, self.cols),
        };
        labels = labels.shift(self.shift).term(self.term);
        labels = match &self.weights {
            Some(Floats::Single(weights)) => labels.weights(weights),
            Some(Floats::Double(weights)) => labels.weights(weights),
            None => labels,
        };
        if let Some(mask) = &self.mask {
            labels = labels.mask(mask);
        }
        if self.same {
            labels = labels.same_microbatch();
        }
        labels
    }
}

/// Doubles of either type, for what differs by type alone.
pub trait AsDouble: LossType {
    fn as_double(self) -> f64;
}
impl AsDouble for f32 {
    fn as_double(self) -> f64 {
        self.into()
    }
}
impl AsDouble for f64 {
    fn as_double(self) -> f64 {
        self
    }
}

pub fn read(text: &str) -> Vec<Case> {
    let mut words = Words(text.split_ascii_whitespace());
    (0..words.named("cases")).map(|_| words.case()).collect()
}

struct Words<'a>(SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    fn word(&mut self) -> &'a str {
        self.0.next().expect("a word is missing")
    }

    fn integer(&mut self) -> i64 {
        self.word().parse().expect("an integer")
    }

    fn named(&mut self, name: &str) -> i64 {
        assert_eq!(self.word(), name);
        self.integer()
    }

    fn double(&mut self) -> f64 {
        f64::from_bits(u64::from_str_radix(self.word(), 16).expect("the bits of a double"))
    }

    fn floats(&mut self, dtype: i64, count: usize) -> Option<Floats> {
        match dtype {
            0 => None,
            4 => Some(Floats::Single((0..count).map(|_| self.double() as f32).collect())),
            5 => Some(Floats::Double((0..count).map(|_| self.double()).collect())),
            _ => panic!("the dtype {dtype}"),
        }
    }

    fn call(&mut self) -> Call {
        assert_eq!(self.word(), "call");
        let (rows, cols) = (self.named("rows") as usize, self.named("cols") as usize);
        let (shift, term) = (self.named("shift") as usize, self.named("term") as usize);
        let dtypes = ["labels", "losses", "weights"].map(|name| self.named(name));
        let [mask, same, discard] = ["mask", "same", "discard"].map(|name| self.named(name) != 0);
        let count = rows * cols;
        let labels = match dtypes[0] {
            1 => Integers::Narrow((0..count).map(|_| self.integer() as i32).collect()),
            _ => Integers::Wide((0..count).map(|_| self.integer()).collect()),
        };
        let (losses, weights) = (self.floats(dtypes[1], count), self.floats(dtypes[2], count));
        let mask = mask.then(|| (0..count).map(|_| self.integer() as u8).collect());
        Call { rows, cols, shift, term, same, discard, labels, losses, weights, mask }
    }

    fn rank(&mut self, index: usize) -> RankInput {
        assert_eq!(self.named("rank") as usize, index);
        let calls = self.named("calls");
        let [done, asks] = ["done", "asks"].map(|name| self.named(name) != 0);
        RankInput { done, asks, calls: (0..calls).map(|_| self.call()).collect() }
    }

    fn config(&mut self) -> CaseConfig {
        assert_eq!(self.word(), "config");
        CaseConfig {
            gradient: if self.integer() == Gradient::Mean as i64 { Gradient::Mean } else { Gradient::Sum },
            gradient_ranks: self.integer() as i32,
            label_copies: self.integer() as i32,
            microbatch_shards: self.integer() as i32,
            divisor: if self.integer() == Divisor::Weights as i64 { Divisor::Weights } else { Divisor::Tokens },
            terms: self.integer() as usize,
            ignore_index: self.integer(),
            accumulation_divisor: self.double(),
        }
    }

    fn step(&mut self, ranks: i32) -> Step {
        assert_eq!(self.word(), "step");
        let [error, losses] = ["error", "losses"].map(|name| self.named(name) != 0);
        Step { error, losses, ranks: (0..ranks as usize).map(|index| self.rank(index)).collect() }
    }

    fn case(&mut self) -> Case {
        assert_eq!(self.word(), "case");
        let id = self.word().to_owned();
        let (ranks, alone, steps) = (self.named("ranks") as i32, self.named("self") != 0, self.named("steps"));
        let config = self.config();
        Case { id, ranks, alone, config, steps: (0..steps).map(|_| self.step(ranks)).collect() }
    }
}
