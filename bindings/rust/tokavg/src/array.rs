// SPDX-License-Identifier: Apache-2.0
//! Arrays of rows and columns inside slices, and the check that none of their elements lies outside.
use std::marker::PhantomData;
use std::os::raw::c_void;

use crate::element::Element;
use crate::sys;

/// An array without its type and life time, not yet checked: that needs the shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    data: *mut c_void,
    dtype: i32,
    element_size: usize,
    len: usize,
    offset: usize,
    row_stride: isize,
    col_stride: isize,
    on_device: bool,
}

/// What the array must hold: `depth` contiguous elements for each row and column.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub rows: usize,
    pub cols: usize,
    pub depth: usize,
}

impl Array {
    fn new<T: Element>(data: *mut T, len: usize) -> Array {
        Array {
            data: data.cast(),
            dtype: T::DTYPE,
            element_size: std::mem::size_of::<T>(),
            len,
            offset: 0,
            row_stride: 0,
            col_stride: 0,
            on_device: false,
        }
    }

    fn device<T: Element>(data: *mut T) -> Array {
        Array { on_device: true, ..Array::new(data, 0) }
    }

    pub(crate) fn on_device(&self) -> bool {
        self.on_device
    }

    /// Distances between neighbours, where 0 is the contiguous one.
    fn strides(&self, shape: Shape) -> (i128, i128) {
        let col = if self.col_stride != 0 { self.col_stride as i128 } else { shape.depth as i128 };
        let row = if self.row_stride != 0 { self.row_stride as i128 } else { (shape.cols as i128).saturating_mul(col) };
        (row, col)
    }

    /// The array as the library takes it, if all of its elements lie in the slice.
    pub(crate) fn input(&self, name: &str, shape: Shape) -> Result<sys::tokavg_array_t, String> {
        let mut array = sys::tokavg_array_t {
            data: self.data,
            dtype: self.dtype,
            memory: (if self.on_device { sys::TOKAVG_MEMORY_CUDA } else { sys::TOKAVG_MEMORY_HOST }) as i32,
            row_stride: self.row_stride as i64,
            col_stride: self.col_stride as i64,
        };
        if self.on_device || shape.rows == 0 || shape.cols == 0 || shape.depth == 0 {
            return Ok(array);
        }
        let (row, col) = self.strides(shape);
        // Saturated sums are outside of every slice.
        let (down, across) =
            ((shape.rows as i128 - 1).saturating_mul(row), (shape.cols as i128 - 1).saturating_mul(col));
        let first = (self.offset as i128).saturating_add(down.min(0)).saturating_add(across.min(0));
        let last =
            (self.offset as i128 + shape.depth as i128 - 1).saturating_add(down.max(0)).saturating_add(across.max(0));
        if first < 0 || last >= self.len as i128 {
            return Err(format!(
                "{name}: {} rows and {} columns with row_stride {row} and col_stride {col} reach from element {first} to \
                 {last}, but the slice has {} elements",
                shape.rows, shape.cols, self.len
            ));
        }
        // SAFETY: offset lies between first and last.
        array.data = unsafe { self.data.cast::<u8>().add(self.offset * self.element_size).cast() };
        Ok(array)
    }

    /// The same for an array that is written: no two of its elements may be one.
    pub(crate) fn output(&self, name: &str, shape: Shape) -> Result<sys::tokavg_array_t, String> {
        let array = self.input(name, shape)?;
        let (row, col) = self.strides(shape);
        let mut axes = [(row.abs(), shape.rows as i128), (col.abs(), shape.cols as i128)];
        axes.sort_unstable();
        let mut reach = shape.depth as i128;
        for (stride, count) in axes {
            if count > 1 && stride < reach {
                return Err(format!("{name}: with row_stride {row} and col_stride {col} elements overlap"));
            }
            reach = reach.saturating_add(stride.saturating_mul((count - 1).max(0)));
        }
        Ok(array)
    }
}

/// An array of rows and columns in a slice. A slice, a `Vec` or an array turns into the contiguous one by itself.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(crate) array: Array,
    life: PhantomData<&'a [T]>,
}

/// The same, to be written.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(crate) array: Array,
    life: PhantomData<&'a mut [T]>,
}

macro_rules! views {
    ($name:ident, $slice:ty, $vec:ty, $fixed:ty, $pointer:ty, $as_ptr:ident) => {
        impl<'a, T: Element> $name<'a, T> {
            /// Element (r, c) is at `offset + r * row_stride + c * col_stride` of the slice. A stride may be negative;
            /// 0 is the contiguous one (columns 1 apart, for logits the vocabulary; rows as far as their columns reach).
            pub fn strided(slice: $slice, offset: usize, row_stride: isize, col_stride: isize) -> Self {
                let mut view = Self::from(slice);
                view.array = Array { offset, row_stride, col_stride, ..view.array };
                view
            }

            /// An array in the memory of the context's GPU, with strides as in [`strided`](Self::strided).
            ///
            /// # Safety
            /// All elements that shape and strides name must be there until the stream has passed the call; nothing can
            /// be checked.
            pub unsafe fn device(data: $pointer, row_stride: isize, col_stride: isize) -> Self {
                let array = Array { row_stride, col_stride, ..Array::device(data as *mut T) };
                Self { array, life: PhantomData }
            }
        }

        impl<'a, T: Element> From<$slice> for $name<'a, T> {
            fn from(slice: $slice) -> Self {
                Self { array: Array::new(slice.$as_ptr() as *mut T, slice.len()), life: PhantomData }
            }
        }

        impl<'a, T: Element> From<$vec> for $name<'a, T> {
            fn from(vec: $vec) -> Self {
                let slice: $slice = vec;
                Self::from(slice)
            }
        }

        impl<'a, T: Element, const N: usize> From<$fixed> for $name<'a, T> {
            fn from(fixed: $fixed) -> Self {
                Self::from(fixed as $slice)
            }
        }
    };
}

views!(View, &'a [T], &'a Vec<T>, &'a [T; N], *const T, as_ptr);
views!(ViewMut, &'a mut [T], &'a mut Vec<T>, &'a mut [T; N], *mut T, as_mut_ptr);
