// SPDX-License-Identifier: Apache-2.0
use std::marker::PhantomData;
use std::ptr;

use crate::array::{Array, View, ViewMut};
use crate::element::LogitType;
use crate::labels::{Labels, NO_ARRAY};
use crate::loss::not_zero;
use crate::{as_i64, sys};

/// Cross entropy from logits, with its gradient, in one call.
///
/// The labels say rows and columns; the logits hold `vocab` values for each of them. Label (r, c) belongs to logits row
/// (r, c - shift).
///
/// ```
/// use tokavg::{Comm, Config, CrossEntropy, Gradient, Labels};
/// # fn main() -> tokavg::Result<()> {
/// let ctx = Config::new(Comm::own(), Gradient::Mean).init()?;
/// let labels = Labels::row(&[0, 2, -100]);
/// let mut logits = [0.5f32, 0.0, 0.0, 0.0, 1.0, 2.0, 9.0, 9.0, 9.0];
/// let mut losses = [0f32; 3];
/// ctx.count(&labels)?;
/// let step = ctx.reduce()?;
/// let values = step.cross_entropy(CrossEntropy::in_place(&mut logits, 3, &labels).losses(&mut losses))?;
/// assert_eq!(losses[2], 0.0); // not scored
/// assert!((values.backward - (losses[0] + losses[1]) / 2.0).abs() < 1e-6);
/// assert!((logits[0] + logits[1] + logits[2]).abs() < 1e-6); // a row of the gradient
/// # ctx.finalize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CrossEntropy<'a, T> {
    logits: Array,
    vocab: usize,
    labels: Labels<'a>,
    gradient: Option<Array>,
    losses: Option<Array>,
    lse: Option<Array>,
    argmax: Option<Array>,
    label_smoothing: f64,
    z_loss: f64,
    logit_softcap: f64,
    loss_scale: f64,
    loss_scale_device: *const f32,
    life: PhantomData<&'a mut [T]>,
}

impl<'a, T: LogitType> CrossEntropy<'a, T> {
    /// Reads the logits; writes a gradient only if [`gradient`](Self::gradient) says where.
    pub fn new(logits: impl Into<View<'a, T>>, vocab: usize, labels: &Labels<'a>) -> Self {
        CrossEntropy::of(logits.into().array, vocab, labels)
    }

    /// Turns the logits into their gradient.
    pub fn in_place(logits: impl Into<ViewMut<'a, T>>, vocab: usize, labels: &Labels<'a>) -> Self {
        let logits = logits.into().array;
        CrossEntropy { gradient: Some(logits), ..CrossEntropy::of(logits, vocab, labels) }
    }

    fn of(logits: Array, vocab: usize, labels: &Labels<'a>) -> Self {
        CrossEntropy {
            logits,
            vocab,
            labels: *labels,
            gradient: None,
            losses: None,
            lse: None,
            argmax: None,
            label_smoothing: 0.0,
            z_loss: 0.0,
            logit_softcap: 0.0,
            loss_scale: 1.0,
            loss_scale_device: ptr::null(),
            life: PhantomData,
        }
    }

    /// Receives the gradient of S · f · loss_scale. It has the shape of the logits.
    pub fn gradient(mut self, gradient: impl Into<ViewMut<'a, T>>) -> Self {
        self.gradient = Some(gradient.into().array);
        self
    }

    /// Receives the loss of each label; 0 where it is not scored.
    pub fn losses(mut self, losses: impl Into<ViewMut<'a, f32>>) -> Self {
        self.losses = Some(losses.into().array);
        self
    }

    /// Receives the log of the sum of exponentials of each logits row; 0 where that is not read.
    pub fn lse(mut self, lse: impl Into<ViewMut<'a, f32>>) -> Self {
        self.lse = Some(lse.into().array);
        self
    }

    /// Receives the class with the largest logit of each logits row; -1 where that is not read.
    pub fn argmax(mut self, argmax: impl Into<ViewMut<'a, i32>>) -> Self {
        self.argmax = Some(argmax.into().array);
        self
    }

    /// How much of each label goes to all classes alike, 0 to 1.
    pub fn label_smoothing(mut self, share: f64) -> Self {
        self.label_smoothing = share;
        self
    }

    /// The coefficient of lse², finite and not negative.
    pub fn z_loss(mut self, coefficient: f64) -> Self {
        self.z_loss = coefficient;
        self
    }

    /// Replaces logits by cap · tanh(logits / cap); 0: no cap.
    pub fn logit_softcap(mut self, cap: f64) -> Self {
        self.logit_softcap = cap;
        self
    }

    /// Multiplies gradient and [`Values::backward`](crate::Values::backward), for mixed precision. Finite, not 0.
    pub fn loss_scale(mut self, loss_scale: f64) -> Self {
        self.loss_scale = loss_scale;
        self
    }

    /// Multiplies by a float in device memory, too. For logits in device memory alone.
    ///
    /// # Safety
    /// The address must be readable until the stream has passed the call.
    pub unsafe fn loss_scale_device(mut self, loss_scale: *const f32) -> Self {
        self.loss_scale_device = loss_scale;
        self
    }

    pub(crate) fn on_device(&self) -> bool {
        self.logits.on_device()
    }

    /// Hands `call` the struct of the library, if the slices are long enough.
    pub(crate) fn with_checked<R>(
        &self,
        backward_out: *mut f32,
        sum_out: *mut f64,
        call: impl FnOnce(&sys::tokavg_cross_entropy_t) -> R,
    ) -> Result<R, String> {
        let labels = self.labels.checked()?;
        let (rows_of_vocab, plain) = (self.labels.shape(self.vocab), self.labels.shape(1));
        let output = |name, array: &Option<Array>, shape| match array {
            Some(array) => array.output(name, shape),
            None => Ok(NO_ARRAY),
        };
        Ok(call(&sys::tokavg_cross_entropy_t {
            struct_size: std::mem::size_of::<sys::tokavg_cross_entropy_t>() as u32,
            reserved: 0,
            logits: self.logits.input("logits", rows_of_vocab)?,
            vocab: as_i64(self.vocab),
            labels: &labels,
            label_smoothing: self.label_smoothing,
            z_loss: self.z_loss,
            logit_softcap: self.logit_softcap,
            loss_scale: not_zero("loss_scale", self.loss_scale)?,
            loss_scale_device: self.loss_scale_device,
            gradient_out: output("gradient", &self.gradient, rows_of_vocab)?,
            losses_out: output("losses", &self.losses, plain)?,
            lse_out: output("lse", &self.lse, plain)?,
            argmax_out: output("argmax", &self.argmax, plain)?,
            backward_out: backward_out.cast(),
            sum_out,
        }))
    }
}
