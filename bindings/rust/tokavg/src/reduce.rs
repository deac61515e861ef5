// SPDX-License-Identifier: Apache-2.0
use crate::sys;

/// Options of [`Context::reduce_with`](crate::Context::reduce_with).
#[derive(Clone, Copy, Debug, Default)]
pub struct Reduce {
    flags: u32,
    step_id: i64,
    accumulation_divisor: Option<f64>,
}

impl Reduce {
    /// No option set.
    pub fn new() -> Reduce {
        Reduce::default()
    }

    /// This rank has no data after this step, for good.
    pub fn done(self, done: bool) -> Self {
        self.flag(sys::TOKAVG_REDUCE_DONE, done)
    }

    /// The caller's own step number: ranks whose numbers differ are found in this step.
    pub fn step_id(mut self, step_id: i64) -> Self {
        self.step_id = step_id;
        self.flag(sys::TOKAVG_REDUCE_STEP_ID, true)
    }

    /// A of this step, in place of the configuration's: finite, above 0, the same on all ranks.
    pub fn accumulation_divisor(mut self, divisor: f64) -> Self {
        self.accumulation_divisor = Some(divisor);
        self
    }

    fn flag(mut self, flag: u32, on: bool) -> Self {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
        self
    }

    /// The library's struct. A divisor of 0 would be the configuration's there: NaN is refused, and that is what is wanted.
    pub(crate) fn raw(&self) -> sys::tokavg_reduce_t {
        let divisor = self.accumulation_divisor.map(|divisor| if divisor == 0.0 { f64::NAN } else { divisor });
        sys::tokavg_reduce_t {
            struct_size: std::mem::size_of::<sys::tokavg_reduce_t>() as u32,
            flags: self.flags,
            step_id: self.step_id,
            accumulation_divisor: divisor.unwrap_or(0.0),
        }
    }
}
