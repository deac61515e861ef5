// SPDX-License-Identifier: Apache-2.0
//! Losses, cross entropy and scaling, on a ticket and on the open step.
use std::ptr;

use crate::element::{LogitType, LossType};
use crate::{sys, Context, CrossEntropy, Loss, Result, Scale, Ticket, Values};

const OPEN: i64 = sys::TOKAVG_OPEN as i64;
const ON_DEVICE: &str = "the array is in device memory, where its sum stays too; use the _device call, and say where";

impl Context {
    fn submit_loss<T: LossType>(&self, ticket: i64, loss: &Loss<'_, T>, backward: *mut T, sum: *mut f64) -> Result<()> {
        let stream = self.stream();
        // SAFETY (both): pointers of the struct are checked, null, or vouched for by the caller.
        loss.with_checked(backward, sum, |raw| self.call(|ctx| unsafe { sys::tokavg_loss(ctx, ticket, raw, stream) }))
            .unwrap_or_else(|text| self.refuse_loss(ticket, text))
    }

    fn refuse_loss<R>(&self, ticket: i64, text: String) -> Result<R> {
        Err(self.refuse(text, |ctx| unsafe { sys::tokavg_loss(ctx, ticket, ptr::null(), self.stream()) }))
    }

    fn loss_on<T: LossType>(&self, ticket: i64, loss: &Loss<'_, T>, backward: bool) -> Result<Values<T>> {
        if loss.on_device() {
            return self.refuse_loss(ticket, ON_DEVICE.into());
        }
        let mut values = Values { backward: T::default(), sum: 0.0 };
        let backward_out = if backward { ptr::addr_of_mut!(values.backward) } else { ptr::null_mut() };
        self.submit_loss(ticket, loss, backward_out, ptr::addr_of_mut!(values.sum))?;
        Ok(values)
    }

    fn submit_cross_entropy<T: LogitType>(
        &self,
        ticket: i64,
        ce: &CrossEntropy<'_, T>,
        backward: *mut f32,
        sum: *mut f64,
    ) -> Result<()> {
        let stream = self.stream();
        // SAFETY: as in submit_loss.
        let call = |raw: &sys::tokavg_cross_entropy_t| {
            self.call(|ctx| unsafe { sys::tokavg_cross_entropy(ctx, ticket, raw, stream) })
        };
        ce.with_checked(backward, sum, call).unwrap_or_else(|text| self.refuse_cross_entropy(ticket, text))
    }

    fn refuse_cross_entropy<R>(&self, ticket: i64, text: String) -> Result<R> {
        Err(self.refuse(text, |ctx| unsafe { sys::tokavg_cross_entropy(ctx, ticket, ptr::null(), self.stream()) }))
    }

    fn cross_entropy_on<T: LogitType>(
        &self,
        ticket: i64,
        ce: CrossEntropy<'_, T>,
        backward: bool,
    ) -> Result<Values<f32>> {
        if ce.on_device() {
            return self.refuse_cross_entropy(ticket, ON_DEVICE.into());
        }
        let mut values = Values::default();
        let backward_out = if backward { ptr::addr_of_mut!(values.backward) } else { ptr::null_mut() };
        self.submit_cross_entropy(ticket, &ce, backward_out, ptr::addr_of_mut!(values.sum))?;
        Ok(values)
    }

    /// Records losses on the open step, whose factor is not known yet: scale the gradients later, with
    /// [`Ticket::scale`].
    pub fn loss<T: LossType>(&self, loss: &Loss<'_, T>) -> Result<Values<T>> {
        self.loss_on(OPEN, loss, true)
    }

    /// Cross entropy on the open step: gradients of the sum, to be scaled later.
    pub fn cross_entropy<T: LogitType>(&self, ce: CrossEntropy<'_, T>) -> Result<Values<f32>> {
        self.cross_entropy_on(OPEN, ce, true)
    }

    /// [`loss`](Context::loss) of an array in device memory.
    ///
    /// # Safety
    /// The outputs must be null, or addresses in device memory that stay there until the stream has passed the call.
    pub unsafe fn loss_device<T: LossType>(&self, loss: &Loss<'_, T>, backward: *mut T, sum: *mut f64) -> Result<()> {
        self.submit_loss(OPEN, loss, backward, sum)
    }

    /// [`cross_entropy`](Context::cross_entropy) of logits in device memory.
    ///
    /// # Safety
    /// As for [`loss_device`](Context::loss_device).
    pub unsafe fn cross_entropy_device<T: LogitType>(
        &self,
        ce: CrossEntropy<'_, T>,
        backward: *mut f32,
        sum: *mut f64,
    ) -> Result<()> {
        self.submit_cross_entropy(OPEN, &ce, backward, sum)
    }
}

impl Ticket<'_> {
    /// Records losses and returns what to call backward on. Waits for the counts.
    pub fn loss<T: LossType>(&self, loss: &Loss<'_, T>) -> Result<Values<T>> {
        self.ctx.loss_on(self.id().raw(), loss, true)
    }

    /// Records losses and returns their sum. Does not wait, and leaves the scaling of the step open.
    pub fn record_loss<T: LossType>(&self, loss: &Loss<'_, T>) -> Result<f64> {
        self.ctx.loss_on(self.id().raw(), loss, false).map(|values| values.sum)
    }

    /// Cross entropy: losses and gradients, already normalised. Waits for the counts.
    pub fn cross_entropy<T: LogitType>(&self, ce: CrossEntropy<'_, T>) -> Result<Values<f32>> {
        self.ctx.cross_entropy_on(self.id().raw(), ce, true)
    }

    /// Cross entropy that returns the sum alone. Waits only for a gradient.
    pub fn record_cross_entropy<T: LogitType>(&self, ce: CrossEntropy<'_, T>) -> Result<f64> {
        self.ctx.cross_entropy_on(self.id().raw(), ce, false).map(|values| values.sum)
    }

    /// [`loss`](Ticket::loss) of an array in device memory.
    ///
    /// # Safety
    /// As for [`Context::loss_device`].
    pub unsafe fn loss_device<T: LossType>(&self, loss: &Loss<'_, T>, backward: *mut T, sum: *mut f64) -> Result<()> {
        self.ctx.submit_loss(self.id().raw(), loss, backward, sum)
    }

    /// [`cross_entropy`](Ticket::cross_entropy) of logits in device memory.
    ///
    /// # Safety
    /// As for [`Context::loss_device`].
    pub unsafe fn cross_entropy_device<T: LogitType>(
        &self,
        ce: CrossEntropy<'_, T>,
        backward: *mut f32,
        sum: *mut f64,
    ) -> Result<()> {
        self.ctx.submit_cross_entropy(self.id().raw(), &ce, backward, sum)
    }

    /// Multiplies arrays by a factor of the step, in place: gradients after their reduction, before clipping. Waits for the
    /// counts. Of kind [`FactorKind::Scale`](crate::FactorKind::Scale) it is refused where the losses were scaled before
    /// backward, and the other way round.
    pub fn scale(&self, scale: Scale<'_>) -> Result<()> {
        let (id, stream) = (self.id().raw(), self.ctx.stream());
        match scale.checked() {
            // SAFETY: the items are slices that scale holds, or vouched for by the caller.
            Ok(raw) => self.ctx.call(|ctx| unsafe { sys::tokavg_scale(ctx, id, &raw, stream) }),
            Err(text) => Err(self.ctx.refuse(text, |ctx| unsafe { sys::tokavg_scale(ctx, id, ptr::null(), stream) })),
        }
    }
}
