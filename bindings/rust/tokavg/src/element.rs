// SPDX-License-Identifier: Apache-2.0
//! The element types of arrays, and which of them go where.
use crate::sys;

pub(crate) mod sealed {
    pub trait Sealed {
        const DTYPE: i32;
    }
}

/// A type that arrays may hold. The traits below say which array takes which types.
pub trait Element: Copy + sealed::Sealed + 'static {}
/// Labels: `i32` or `i64`.
pub trait LabelType: Element {}
/// Masks: `u8` or `bool`.
pub trait MaskType: Element {}
/// Losses and weights: `f32` or `f64`.
pub trait LossType: Element + Default {}
/// Logits: `f32`, [`Bf16`] or [`F16`].
pub trait LogitType: Element {}
/// Gradients: `f32`, `f64`, [`Bf16`] or [`F16`].
pub trait GradientType: Element {}

/// The bits of a bfloat16: the upper half of an `f32`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bf16(pub u16);

/// The bits of an IEEE binary16.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct F16(pub u16);

macro_rules! elements {
    ($($type:ty, $dtype:ident: $($role:ident)*;)*) => {$(
        impl sealed::Sealed for $type {
            const DTYPE: i32 = sys::$dtype as i32;
        }
        impl Element for $type {}
        $(impl $role for $type {})*
    )*};
}

elements! {
    i32, TOKAVG_DTYPE_I32: LabelType;
    i64, TOKAVG_DTYPE_I64: LabelType;
    u8, TOKAVG_DTYPE_U8: MaskType;
    bool, TOKAVG_DTYPE_U8: MaskType;
    f32, TOKAVG_DTYPE_F32: LossType LogitType GradientType;
    f64, TOKAVG_DTYPE_F64: LossType GradientType;
    Bf16, TOKAVG_DTYPE_BF16: LogitType GradientType;
    F16, TOKAVG_DTYPE_F16: LogitType GradientType;
}

macro_rules! from_bits {
    ($type:ident) => {
        impl $type {
            /// The same memory, seen as this type.
            pub fn from_bits(bits: &[u16]) -> &[$type] {
                // SAFETY: repr(transparent) over u16.
                unsafe { core::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
            }

            /// The same memory, seen as this type.
            pub fn from_bits_mut(bits: &mut [u16]) -> &mut [$type] {
                // SAFETY: as above.
                unsafe { core::slice::from_raw_parts_mut(bits.as_mut_ptr().cast(), bits.len()) }
            }
        }
    };
}

from_bits!(Bf16);
from_bits!(F16);
