// SPDX-License-Identifier: Apache-2.0
use std::os::raw::c_void;
use std::ptr;

use crate::array::{Array, Shape, View};
use crate::element::{sealed::Sealed, LossType};
use crate::labels::{Labels, NO_ARRAY};
use crate::{as_i32, as_i64, sys};

/// Losses that the caller has computed: one for each token, or one value for several tokens.
#[derive(Clone, Copy, Debug)]
pub struct Loss<'a, T> {
    kind: u32,
    held: Held<T>,
    rows: usize,
    cols: usize,
    labels: Option<Labels<'a>>,
    tokens: i64,
    term: usize,
    loss_scale: f64,
    loss_scale_device: *const f32,
}

#[derive(Clone, Copy, Debug)]
enum Held<T> {
    Value(T),
    Array(Array),
}

/// What losses came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values<T> {
    /// What to call backward on: S · f · loss_scale on a ticket, S · loss_scale on the open step.
    pub backward: T,
    /// S: the sum of these losses, weighted where there are weights.
    pub sum: f64,
}

impl<'a, T: LossType> Loss<'a, T> {
    fn array(losses: View<'a, T>, rows: usize, cols: usize) -> Self {
        Loss { rows, cols, ..Loss::held(sys::TOKAVG_LOSS_TOKEN_LOSSES, Held::Array(losses.array), 0) }
    }

    fn held(kind: u32, held: Held<T>, tokens: i64) -> Self {
        let loss_scale_device = ptr::null();
        Loss { kind, held, rows: 1, cols: 1, labels: None, tokens, term: 0, loss_scale: 1.0, loss_scale_device }
    }

    /// One loss for each label; labels select and weight them, and say the shape and the term.
    pub fn tokens(losses: impl Into<View<'a, T>>, labels: &Labels<'a>) -> Self {
        let mut loss = Loss::array(losses.into(), labels.rows, labels.cols);
        loss.labels = Some(*labels);
        loss.term = labels.term;
        loss
    }

    /// Losses that all count, with weight 1.
    pub fn all(losses: impl Into<View<'a, T>>, rows: usize, cols: usize) -> Self {
        Loss::array(losses.into(), rows, cols)
    }

    /// The sum of the losses of `tokens` tokens. With 0 tokens the value is not read.
    pub fn sum(value: T, tokens: usize) -> Self {
        Loss::held(sys::TOKAVG_LOSS_SUM, Held::Value(value), as_i64(tokens))
    }

    /// The sum of the losses of all tokens that were counted here and not yet recorded.
    pub fn sum_of_counted(value: T) -> Self {
        Loss::held(sys::TOKAVG_LOSS_SUM, Held::Value(value), -1)
    }

    /// The mean loss of `tokens` tokens; refused where weights divide. With 0 tokens the value is not read.
    pub fn mean(value: T, tokens: usize) -> Self {
        Loss::held(sys::TOKAVG_LOSS_MEAN, Held::Value(value), as_i64(tokens))
    }

    /// The mean loss of all tokens that were counted here and not yet recorded.
    pub fn mean_of_counted(value: T) -> Self {
        Loss::held(sys::TOKAVG_LOSS_MEAN, Held::Value(value), -1)
    }

    /// Which term of the loss this is. Where there are labels, they have said it already.
    pub fn term(mut self, term: usize) -> Self {
        self.term = term;
        self
    }

    /// Multiplies [`Values::backward`], for mixed precision. Finite, not 0.
    pub fn loss_scale(mut self, loss_scale: f64) -> Self {
        self.loss_scale = loss_scale;
        self
    }

    /// Multiplies by a float in device memory, too. For losses in device memory alone.
    ///
    /// # Safety
    /// The address must be readable until the stream has passed the call.
    pub unsafe fn loss_scale_device(mut self, loss_scale: *const f32) -> Self {
        self.loss_scale_device = loss_scale;
        self
    }

    pub(crate) fn on_device(&self) -> bool {
        matches!(&self.held, Held::Array(array) if array.on_device())
    }

    /// Hands `call` the struct of the library, if the slices are long enough.
    pub(crate) fn with_checked<R>(
        &self,
        backward_out: *mut T,
        sum_out: *mut f64,
        call: impl FnOnce(&sys::tokavg_loss_t) -> R,
    ) -> Result<R, String> {
        let labels = self.labels.map(|labels| labels.checked()).transpose()?;
        let mut value = match self.held {
            Held::Value(value) => value,
            Held::Array(_) => T::default(),
        };
        let losses = match &self.held {
            Held::Array(array) => array.input("losses", Shape { rows: self.rows, cols: self.cols, depth: 1 })?,
            Held::Value(_) => sys::tokavg_array_t {
                data: ptr::addr_of_mut!(value).cast(),
                dtype: <T as Sealed>::DTYPE,
                memory: sys::TOKAVG_MEMORY_HOST as i32,
                ..NO_ARRAY
            },
        };
        Ok(call(&sys::tokavg_loss_t {
            struct_size: std::mem::size_of::<sys::tokavg_loss_t>() as u32,
            kind: self.kind as i32,
            term: as_i32(self.term),
            reserved: 0,
            rows: as_i64(self.rows),
            cols: as_i64(self.cols),
            losses,
            labels: labels.as_ref().map_or(ptr::null(), |labels| labels),
            tokens: self.tokens,
            loss_scale: not_zero("loss_scale", self.loss_scale)?,
            loss_scale_device: self.loss_scale_device,
            backward_out: backward_out.cast::<c_void>(),
            sum_out,
        }))
    }
}

/// To the library 0 means 1, so that an all-zero struct is a default; here it would be a mistake that nobody sees.
pub(crate) fn not_zero(name: &str, value: f64) -> Result<f64, String> {
    if value == 0.0 {
        return Err(format!("{name} is 0; it must be finite and not 0"));
    }
    Ok(value)
}
