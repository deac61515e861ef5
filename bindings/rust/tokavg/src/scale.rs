// SPDX-License-Identifier: Apache-2.0
use std::marker::PhantomData;
use std::ptr;

use crate::element::GradientType;
use crate::loss::not_zero;
use crate::{as_i32, sys, FactorKind};

/// Arrays to multiply by a factor of a step, in place: all gradients of a model, say. Their types may differ.
///
/// ```
/// use tokavg::{Comm, Config, Gradient, Scale};
/// # fn main() -> tokavg::Result<()> {
/// let ctx = Config::new(Comm::own(), Gradient::Sum).init()?;
/// ctx.count_add(0, 4, None, 1)?;
/// let step = ctx.reduce()?;
/// let (mut weights, mut bias) = (vec![8f32, 4.0], [2f64]);
/// step.scale(Scale::new().array(&mut weights).array(&mut bias))?;
/// assert_eq!((weights, bias), (vec![2.0, 1.0], [0.5]));
/// # ctx.finalize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Scale<'a> {
    items: Vec<sys::tokavg_scale_item_t>,
    term: usize,
    kind: FactorKind,
    factor: f64,
    factor_device: *const f32,
    life: PhantomData<&'a mut [f64]>,
}

impl<'a> Default for Scale<'a> {
    fn default() -> Self {
        Scale::new()
    }
}

impl<'a> Scale<'a> {
    /// By the factor [`FactorKind::Scale`] of term 0; no arrays yet.
    pub fn new() -> Scale<'a> {
        let (life, factor_device) = (PhantomData, ptr::null());
        Scale { items: Vec::new(), term: 0, kind: FactorKind::Scale, factor: 1.0, factor_device, life }
    }

    /// Adds an array.
    pub fn array<T: GradientType>(self, array: &'a mut [T]) -> Self {
        self.item(array.as_mut_ptr(), array.len(), sys::TOKAVG_MEMORY_HOST)
    }

    /// Adds arrays of one type.
    pub fn arrays<T: GradientType>(self, arrays: impl IntoIterator<Item = &'a mut [T]>) -> Self {
        arrays.into_iter().fold(self, |scale, array| scale.array(array))
    }

    /// Adds an array in the memory of the context's GPU.
    ///
    /// # Safety
    /// The elements must be there until the stream has passed the call.
    pub unsafe fn device<T: GradientType>(self, data: *mut T, count: usize) -> Self {
        self.item(data, count, sys::TOKAVG_MEMORY_CUDA)
    }

    fn item<T: GradientType>(mut self, data: *mut T, count: usize, memory: u32) -> Self {
        let (data, count) = (data.cast(), crate::as_i64(count));
        self.items.push(sys::tokavg_scale_item_t { data, count, dtype: T::DTYPE, memory: memory as i32 });
        self
    }

    /// Which term's factor.
    pub fn term(mut self, term: usize) -> Self {
        self.term = term;
        self
    }

    /// Which kind of factor.
    pub fn kind(mut self, kind: FactorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Multiplies by a further factor. Finite, not 0.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Multiplies by a float in device memory, too. For arrays in device memory alone.
    ///
    /// # Safety
    /// The address must be readable until the stream has passed the call.
    pub unsafe fn factor_device(mut self, factor: *const f32) -> Self {
        self.factor_device = factor;
        self
    }

    pub(crate) fn checked(&self) -> Result<sys::tokavg_scale_t, String> {
        Ok(sys::tokavg_scale_t {
            struct_size: std::mem::size_of::<sys::tokavg_scale_t>() as u32,
            item_size: std::mem::size_of::<sys::tokavg_scale_item_t>() as u32,
            items: self.items.as_ptr(),
            n_items: self.items.len() as i64,
            term: as_i32(self.term),
            kind: self.kind as i32,
            factor: not_zero("factor", self.factor)?,
            factor_device: self.factor_device,
        })
    }
}
