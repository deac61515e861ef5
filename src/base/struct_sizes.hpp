// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tokavg/transport_plugin.h"

namespace tokavg {

// The size of each struct in version 1.0: the shortest that a caller may have. Not sizeof, which grows with a field and
// would lock the callers of 1.0 out.
template <typename Struct>
inline constexpr std::uint32_t kSize10 = 0;
template <>
inline constexpr std::uint32_t kSize10<tokavg_config_t> = 136;
template <>
inline constexpr std::uint32_t kSize10<tokavg_labels_t> = 136;
template <>
inline constexpr std::uint32_t kSize10<tokavg_loss_t> = 112;
template <>
inline constexpr std::uint32_t kSize10<tokavg_cross_entropy_t> = 240;
template <>
inline constexpr std::uint32_t kSize10<tokavg_scale_item_t> = 24;
template <>
inline constexpr std::uint32_t kSize10<tokavg_scale_t> = 48;
template <>
inline constexpr std::uint32_t kSize10<tokavg_reduce_t> = 24;
template <>
inline constexpr std::uint32_t kSize10<tokavg_result_t> = 672;
template <>
inline constexpr std::uint32_t kSize10<tokavg_transport_t> = 88;

}  // namespace tokavg
