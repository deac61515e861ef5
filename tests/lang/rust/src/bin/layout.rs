// SPDX-License-Identifier: Apache-2.0
//! The structs of tokavg-sys as this compiler lays them out, against those of the C compiler (lang_layout).
use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::ptr::addr_of;

use tokavg::sys::*;

extern "C" {
    /// "tokavg_array_t": its size; "tokavg_array_t.data": an offset; -1: not known.
    fn lang_layout(what: *const c_char) -> i64;
}

fn compare(what: &str, here: usize, faults: &mut usize) {
    let name = CString::new(what).unwrap();
    let there = unsafe { lang_layout(name.as_ptr()) };
    if there != here as i64 {
        println!("{what}: {here} here, {there} in C");
        *faults += 1;
    }
}

macro_rules! compare_structs {
    ($faults:ident, $($struct:ident { $($field:ident)* })*) => {$(
        // Does not compile where a field is missing from the list.
        let _ = |$struct { $($field: _,)* }: $struct| ();
        compare(stringify!($struct), size_of::<$struct>(), &mut $faults);
        let value = MaybeUninit::<$struct>::zeroed();
        let base = value.as_ptr();
        $(
            let offset = unsafe { addr_of!((*base).$field) } as usize - base as usize;
            compare(concat!(stringify!($struct), ".", stringify!($field)), offset, &mut $faults);
        )*
    )*};
}

fn main() {
    let mut faults = 0;
    compare_structs! { faults,
        tokavg_array_t { data dtype memory row_stride col_stride }
        tokavg_config_t {
            struct_size comm_kind comm comm_fortran comm_rank transport device device_index host_threads
            gradient_reduction gradient_ranks label_copies label_copy_index asks_only microbatch_shards
            accumulation_divisor ignore_index divisor terms in_flight progress timeout_ms warn_ms flags reserved log
            log_user
        }
        tokavg_labels_t { struct_size flags term label_base shift rows cols labels mask weights }
        tokavg_loss_t {
            struct_size kind term reserved rows cols losses labels tokens loss_scale loss_scale_device backward_out
            sum_out
        }
        tokavg_cross_entropy_t {
            struct_size reserved logits vocab labels label_smoothing z_loss logit_softcap loss_scale loss_scale_device
            gradient_out losses_out lse_out argmax_out backward_out sum_out
        }
        tokavg_scale_item_t { data count dtype memory }
        tokavg_scale_t { struct_size item_size items n_items term kind factor factor_device }
        tokavg_reduce_t { struct_size flags step_id accumulation_divisor }
        tokavg_result_t {
            struct_size flags ticket step_id tokens local_tokens loss_tokens nonfinite invalid_labels weight_sum loss_sum
            factor mean_loss microbatches audit_ticket audit_counted audit_recorded ranks label_ranks empty_ranks
            done_ranks failed_ranks first_failed_rank exposed_seconds reduce_seconds
        }
        tokavg_transport_t {
            struct_size version rank ranks capabilities reserved user start test cancel late_ranks abort describe close
        }
        tokavg_transport_options_t { struct_size comm_kind comm comm_fortran progress timeout_ms max_words }
    }
    // A comparison that cannot fail is none.
    let mut planted = 0;
    compare("tokavg_array_t.no_such_field", 0, &mut planted);
    assert_eq!(planted, 1);
    println!("{faults} differences");
    std::process::exit(i32::from(faults != 0));
}
