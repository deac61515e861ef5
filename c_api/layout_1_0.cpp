// SPDX-License-Identifier: Apache-2.0
// The layout of version 1.0, which no later version may change: a field moved here is a broken caller out there.
#include <cstddef>

#include "tokavg/transport_plugin.h"
#include "tokavg/types.h"

// Where a struct of 1.0 ended: what later versions append comes after it.
#define TOKAVG_ENDS(type, last, size) \
  static_assert(offsetof(type, last) + sizeof(type::last) == (size), #type " of 1.0 ended here")
#define TOKAVG_AT(type, field, offset) static_assert(offsetof(type, field) == (offset), #type "." #field)

TOKAVG_AT(tokavg_array_t, data, 0);
TOKAVG_AT(tokavg_array_t, dtype, 8);
TOKAVG_AT(tokavg_array_t, memory, 12);
TOKAVG_AT(tokavg_array_t, row_stride, 16);
TOKAVG_AT(tokavg_array_t, col_stride, 24);
TOKAVG_ENDS(tokavg_array_t, col_stride, 32);

TOKAVG_AT(tokavg_config_t, struct_size, 0);
TOKAVG_AT(tokavg_config_t, comm_kind, 4);
TOKAVG_AT(tokavg_config_t, comm, 8);
TOKAVG_AT(tokavg_config_t, comm_fortran, 16);
TOKAVG_AT(tokavg_config_t, comm_rank, 20);
TOKAVG_AT(tokavg_config_t, transport, 24);
TOKAVG_AT(tokavg_config_t, device, 28);
TOKAVG_AT(tokavg_config_t, device_index, 32);
TOKAVG_AT(tokavg_config_t, host_threads, 36);
TOKAVG_AT(tokavg_config_t, gradient_reduction, 40);
TOKAVG_AT(tokavg_config_t, gradient_ranks, 44);
TOKAVG_AT(tokavg_config_t, label_copies, 48);
TOKAVG_AT(tokavg_config_t, label_copy_index, 52);
TOKAVG_AT(tokavg_config_t, asks_only, 56);
TOKAVG_AT(tokavg_config_t, microbatch_shards, 60);
TOKAVG_AT(tokavg_config_t, accumulation_divisor, 64);
TOKAVG_AT(tokavg_config_t, ignore_index, 72);
TOKAVG_AT(tokavg_config_t, divisor, 80);
TOKAVG_AT(tokavg_config_t, terms, 84);
TOKAVG_AT(tokavg_config_t, in_flight, 88);
TOKAVG_AT(tokavg_config_t, progress, 92);
TOKAVG_AT(tokavg_config_t, timeout_ms, 96);
TOKAVG_AT(tokavg_config_t, warn_ms, 104);
TOKAVG_AT(tokavg_config_t, flags, 112);
TOKAVG_AT(tokavg_config_t, reserved, 116);
TOKAVG_AT(tokavg_config_t, log, 120);
TOKAVG_AT(tokavg_config_t, log_user, 128);
TOKAVG_ENDS(tokavg_config_t, log_user, 136);

TOKAVG_AT(tokavg_labels_t, struct_size, 0);
TOKAVG_AT(tokavg_labels_t, flags, 4);
TOKAVG_AT(tokavg_labels_t, term, 8);
TOKAVG_AT(tokavg_labels_t, label_base, 12);
TOKAVG_AT(tokavg_labels_t, shift, 16);
TOKAVG_AT(tokavg_labels_t, rows, 24);
TOKAVG_AT(tokavg_labels_t, cols, 32);
TOKAVG_AT(tokavg_labels_t, labels, 40);
TOKAVG_AT(tokavg_labels_t, mask, 72);
TOKAVG_AT(tokavg_labels_t, weights, 104);
TOKAVG_ENDS(tokavg_labels_t, weights, 136);

TOKAVG_AT(tokavg_loss_t, struct_size, 0);
TOKAVG_AT(tokavg_loss_t, kind, 4);
TOKAVG_AT(tokavg_loss_t, term, 8);
TOKAVG_AT(tokavg_loss_t, reserved, 12);
TOKAVG_AT(tokavg_loss_t, rows, 16);
TOKAVG_AT(tokavg_loss_t, cols, 24);
TOKAVG_AT(tokavg_loss_t, losses, 32);
TOKAVG_AT(tokavg_loss_t, labels, 64);
TOKAVG_AT(tokavg_loss_t, tokens, 72);
TOKAVG_AT(tokavg_loss_t, loss_scale, 80);
TOKAVG_AT(tokavg_loss_t, loss_scale_device, 88);
TOKAVG_AT(tokavg_loss_t, backward_out, 96);
TOKAVG_AT(tokavg_loss_t, sum_out, 104);
TOKAVG_ENDS(tokavg_loss_t, sum_out, 112);

TOKAVG_AT(tokavg_cross_entropy_t, struct_size, 0);
TOKAVG_AT(tokavg_cross_entropy_t, reserved, 4);
TOKAVG_AT(tokavg_cross_entropy_t, logits, 8);
TOKAVG_AT(tokavg_cross_entropy_t, vocab, 40);
TOKAVG_AT(tokavg_cross_entropy_t, labels, 48);
TOKAVG_AT(tokavg_cross_entropy_t, label_smoothing, 56);
TOKAVG_AT(tokavg_cross_entropy_t, z_loss, 64);
TOKAVG_AT(tokavg_cross_entropy_t, logit_softcap, 72);
TOKAVG_AT(tokavg_cross_entropy_t, loss_scale, 80);
TOKAVG_AT(tokavg_cross_entropy_t, loss_scale_device, 88);
TOKAVG_AT(tokavg_cross_entropy_t, gradient_out, 96);
TOKAVG_AT(tokavg_cross_entropy_t, losses_out, 128);
TOKAVG_AT(tokavg_cross_entropy_t, lse_out, 160);
TOKAVG_AT(tokavg_cross_entropy_t, argmax_out, 192);
TOKAVG_AT(tokavg_cross_entropy_t, backward_out, 224);
TOKAVG_AT(tokavg_cross_entropy_t, sum_out, 232);
TOKAVG_ENDS(tokavg_cross_entropy_t, sum_out, 240);

TOKAVG_AT(tokavg_scale_item_t, data, 0);
TOKAVG_AT(tokavg_scale_item_t, count, 8);
TOKAVG_AT(tokavg_scale_item_t, dtype, 16);
TOKAVG_AT(tokavg_scale_item_t, memory, 20);
TOKAVG_ENDS(tokavg_scale_item_t, memory, 24);

TOKAVG_AT(tokavg_scale_t, struct_size, 0);
TOKAVG_AT(tokavg_scale_t, item_size, 4);
TOKAVG_AT(tokavg_scale_t, items, 8);
TOKAVG_AT(tokavg_scale_t, n_items, 16);
TOKAVG_AT(tokavg_scale_t, term, 24);
TOKAVG_AT(tokavg_scale_t, kind, 28);
TOKAVG_AT(tokavg_scale_t, factor, 32);
TOKAVG_AT(tokavg_scale_t, factor_device, 40);
TOKAVG_ENDS(tokavg_scale_t, factor_device, 48);

TOKAVG_AT(tokavg_reduce_t, struct_size, 0);
TOKAVG_AT(tokavg_reduce_t, flags, 4);
TOKAVG_AT(tokavg_reduce_t, step_id, 8);
TOKAVG_AT(tokavg_reduce_t, accumulation_divisor, 16);
TOKAVG_ENDS(tokavg_reduce_t, accumulation_divisor, 24);

TOKAVG_AT(tokavg_result_t, struct_size, 0);
TOKAVG_AT(tokavg_result_t, flags, 4);
TOKAVG_AT(tokavg_result_t, ticket, 8);
TOKAVG_AT(tokavg_result_t, step_id, 16);
TOKAVG_AT(tokavg_result_t, tokens, 24);
TOKAVG_AT(tokavg_result_t, local_tokens, 88);
TOKAVG_AT(tokavg_result_t, loss_tokens, 152);
TOKAVG_AT(tokavg_result_t, nonfinite, 216);
TOKAVG_AT(tokavg_result_t, invalid_labels, 280);
TOKAVG_AT(tokavg_result_t, weight_sum, 344);
TOKAVG_AT(tokavg_result_t, loss_sum, 408);
TOKAVG_AT(tokavg_result_t, factor, 472);
TOKAVG_AT(tokavg_result_t, mean_loss, 536);
TOKAVG_AT(tokavg_result_t, microbatches, 600);
TOKAVG_AT(tokavg_result_t, audit_ticket, 608);
TOKAVG_AT(tokavg_result_t, audit_counted, 616);
TOKAVG_AT(tokavg_result_t, audit_recorded, 624);
TOKAVG_AT(tokavg_result_t, ranks, 632);
TOKAVG_AT(tokavg_result_t, label_ranks, 636);
TOKAVG_AT(tokavg_result_t, empty_ranks, 640);
TOKAVG_AT(tokavg_result_t, done_ranks, 644);
TOKAVG_AT(tokavg_result_t, failed_ranks, 648);
TOKAVG_AT(tokavg_result_t, first_failed_rank, 652);
TOKAVG_AT(tokavg_result_t, exposed_seconds, 656);
TOKAVG_AT(tokavg_result_t, reduce_seconds, 664);
TOKAVG_ENDS(tokavg_result_t, reduce_seconds, 672);

TOKAVG_AT(tokavg_transport_t, struct_size, 0);
TOKAVG_AT(tokavg_transport_t, version, 4);
TOKAVG_AT(tokavg_transport_t, rank, 8);
TOKAVG_AT(tokavg_transport_t, ranks, 12);
TOKAVG_AT(tokavg_transport_t, capabilities, 16);
TOKAVG_AT(tokavg_transport_t, reserved, 20);
TOKAVG_AT(tokavg_transport_t, user, 24);
TOKAVG_AT(tokavg_transport_t, start, 32);
TOKAVG_AT(tokavg_transport_t, test, 40);
TOKAVG_AT(tokavg_transport_t, cancel, 48);
TOKAVG_AT(tokavg_transport_t, late_ranks, 56);
TOKAVG_AT(tokavg_transport_t, abort, 64);
TOKAVG_AT(tokavg_transport_t, describe, 72);
TOKAVG_AT(tokavg_transport_t, close, 80);
TOKAVG_ENDS(tokavg_transport_t, close, 88);

TOKAVG_AT(tokavg_transport_options_t, struct_size, 0);
TOKAVG_AT(tokavg_transport_options_t, comm_kind, 4);
TOKAVG_AT(tokavg_transport_options_t, comm, 8);
TOKAVG_AT(tokavg_transport_options_t, comm_fortran, 16);
TOKAVG_AT(tokavg_transport_options_t, progress, 20);
TOKAVG_AT(tokavg_transport_options_t, timeout_ms, 24);
TOKAVG_AT(tokavg_transport_options_t, max_words, 32);
TOKAVG_ENDS(tokavg_transport_options_t, max_words, 40);
