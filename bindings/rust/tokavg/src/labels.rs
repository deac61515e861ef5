// SPDX-License-Identifier: Apache-2.0
use std::marker::PhantomData;

use crate::array::{Array, Shape, View};
use crate::element::{LabelType, LossType, MaskType};
use crate::{as_i32, as_i64, sys};

/// The labels of one term of one microbatch, or of a part of it.
///
/// The token (r, c) is scored when its label is not the context's `ignore_index`, c >= [`shift`](Labels::shift), and
/// the mask, if there is one, is not 0 there. Slices are checked against the shape when the labels are used.
///
/// ```
/// use tokavg::{Labels, View};
/// let tokens = [5, 7, -100, 2, 4, -100];
/// let two_rows = Labels::new(&tokens, 2, 3).shift(1);
/// let second_column_only = Labels::new(View::strided(&tokens, 1, 3, 1), 2, 1);
/// let weighted = Labels::row(&tokens).weights(&[1.0, 0.5, 1.0, 1.0, 0.5, 1.0]).mask(&[true; 6]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    labels: Array,
    mask: Option<Array>,
    weights: Option<Array>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) term: usize,
    shift: usize,
    label_base: i32,
    same_microbatch: bool,
    life: PhantomData<&'a [i64]>,
}

impl<'a> Labels<'a> {
    /// Labels of `rows` rows and `cols` columns.
    pub fn new<T: LabelType>(labels: impl Into<View<'a, T>>, rows: usize, cols: usize) -> Labels<'a> {
        Labels {
            labels: labels.into().array,
            mask: None,
            weights: None,
            rows,
            cols,
            term: 0,
            shift: 0,
            label_base: 0,
            same_microbatch: false,
            life: PhantomData,
        }
    }

    /// One row.
    pub fn row<T: LabelType>(labels: &'a [T]) -> Labels<'a> {
        Labels::new(labels, 1, labels.len())
    }

    /// Where it is 0 or false, tokens are not scored. It has the shape of the labels.
    pub fn mask<T: MaskType>(mut self, mask: impl Into<View<'a, T>>) -> Self {
        self.mask = Some(mask.into().array);
        self
    }

    /// The weights of the tokens, by which their losses are multiplied. They have the shape of the labels.
    pub fn weights<T: LossType>(mut self, weights: impl Into<View<'a, T>>) -> Self {
        self.weights = Some(weights.into().array);
        self
    }

    /// How many leading columns of each row are not scored; 1 for causal models.
    pub fn shift(mut self, columns: usize) -> Self {
        self.shift = columns;
        self
    }

    /// Which term of the loss these labels belong to.
    pub fn term(mut self, term: usize) -> Self {
        self.term = term;
        self
    }

    /// 1 where the classes are counted from 1. Read by cross entropy alone.
    pub fn label_base(mut self, first_class: i32) -> Self {
        self.label_base = first_class;
        self
    }

    /// These labels belong to the microbatch already begun: a further term, or a further part of it.
    pub fn same_microbatch(mut self) -> Self {
        self.same_microbatch = true;
        self
    }

    pub(crate) fn shape(&self, depth: usize) -> Shape {
        Shape { rows: self.rows, cols: self.cols, depth }
    }

    /// As the library takes it, if the slices are long enough.
    pub(crate) fn checked(&self) -> Result<sys::tokavg_labels_t, String> {
        let shape = self.shape(1);
        let optional = |name, array: &Option<Array>| match array {
            Some(array) => array.input(name, shape),
            None => Ok(NO_ARRAY),
        };
        Ok(sys::tokavg_labels_t {
            struct_size: std::mem::size_of::<sys::tokavg_labels_t>() as u32,
            flags: if self.same_microbatch { sys::TOKAVG_LABELS_SAME_MICROBATCH } else { 0 },
            term: as_i32(self.term),
            label_base: self.label_base,
            shift: as_i64(self.shift),
            rows: as_i64(self.rows),
            cols: as_i64(self.cols),
            labels: self.labels.input("labels", shape)?,
            mask: optional("mask", &self.mask)?,
            weights: optional("weights", &self.weights)?,
        })
    }
}

pub(crate) const NO_ARRAY: sys::tokavg_array_t =
    sys::tokavg_array_t { data: std::ptr::null_mut(), dtype: 0, memory: 0, row_stride: 0, col_stride: 0 };
