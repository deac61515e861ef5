// SPDX-License-Identifier: Apache-2.0
//! Texts that the library copies out.
use std::os::raw::c_char;

use crate::sys;

/// Asks `write` once, and again with more room if the text was cut.
fn copy_out(mut write: impl FnMut(*mut c_char, i64, *mut i64) -> i32) -> String {
    let mut bytes = vec![0u8; 512];
    let mut needed = 0;
    for _ in 0..2 {
        if write(bytes.as_mut_ptr().cast(), bytes.len() as i64, &mut needed) != sys::TOKAVG_OK {
            return String::new();
        }
        if needed as usize <= bytes.len() {
            break;
        }
        bytes.resize(needed as usize, 0);
    }
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// `ctx` is a context or null.
pub(crate) fn last_error(ctx: *mut sys::tokavg_context_t) -> String {
    // SAFETY: the buffer is as long as said.
    copy_out(|text, capacity, needed| unsafe { sys::tokavg_last_error(ctx, text, capacity, needed) })
}

/// `ctx` is a context or null.
pub(crate) fn describe(ctx: *mut sys::tokavg_context_t) -> String {
    // SAFETY: as above.
    copy_out(|text, capacity, needed| unsafe { sys::tokavg_describe(ctx, text, capacity, needed) })
}
