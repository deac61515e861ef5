// SPDX-License-Identifier: Apache-2.0
#include "calls/table.hpp"

#include <cstring>

#include "expect.hpp"

namespace fuzz {
namespace {

TableOfOne& self(void* user) { return *static_cast<TableOfOne*>(user); }

}  // namespace

TableOfOne::TableOfOne(Reader& in) : dependable_(in.coin()) {
  script_ = in.value<std::array<std::uint8_t, 16>>();
  optional_ = in.byte();
  capabilities_ = static_cast<std::uint32_t>(in.below(4));
}

TableOfOne::~TableOfOne() { EXPECT(closed_ || !closes_, "a table was taken over and never closed"); }

tokavg_transport_t TableOfOne::entries() {
  tokavg_transport_t table{};
  table.struct_size = sizeof table;
  table.version = TOKAVG_TRANSPORT_VERSION;
  table.ranks = 1;
  table.capabilities = capabilities_;
  table.user = this;
  table.start = start;
  table.test = test;
  if ((optional_ & 1U) != 0) table.cancel = cancel;
  if ((optional_ & 2U) != 0) table.late_ranks = late_ranks;
  if ((optional_ & 4U) != 0) table.abort = abort;
  if ((optional_ & 8U) != 0) table.describe = describe;
  if ((optional_ & 16U) != 0) table.close = close;
  return table;
}

std::uint8_t TableOfOne::next() noexcept {
  if (dependable_) return 0;
  at_ = (at_ + 1) % script_.size();
  return script_[at_];
}

// Mostly OK; else an error, a remark, or nothing that this version knows.
tokavg_status_t TableOfOne::next_status() noexcept {
  const std::uint8_t what = next();
  if (what < 224) return TOKAVG_OK;
  static constexpr tokavg_status_t kStatuses[] = {-1, -9, -11, -12, -13, -15, -19, -20, 1, 2, 3, INT32_MIN, INT32_MAX};
  return kStatuses[what % (sizeof kStatuses / sizeof *kStatuses)];
}

TableOfOne::Sum& TableOfOne::sum_of(void* request) {
  EXPECT(!closed_, "a table was used after it was closed");
  const auto found = sums_.find(reinterpret_cast<std::uintptr_t>(request));
  EXPECT(found != sums_.end() && !found->second.gone, "a request was used that is gone, or never was one");
  return found->second;
}

// As a sum that is still going on may do: the sanitizer tells if the memory is not there any more.
void TableOfOne::touch(const Sum& sum) {
  if (sum.given_back) return;
  for (std::int64_t i = 0; i < sum.n_words; ++i) {
    volatile std::uint64_t* const word = sum.words + i;
    *word = *word;
  }
}

tokavg_status_t TableOfOne::start(void* user, std::uint64_t* words, std::int64_t n_words, void** request_out) noexcept {
  TableOfOne& table = self(user);
  EXPECT(!table.closed_, "a table was used after it was closed");
  EXPECT(words != nullptr && request_out != nullptr && n_words >= 1 && n_words <= 4096, "start with %lld words",
         static_cast<long long>(n_words));
  const tokavg_status_t status = table.next_status();
  Sum sum{words, n_words, 0, status != TOKAVG_OK, false};
  const std::uint8_t patience = table.next();
  sum.tests_left = patience >= 250 ? kNever : patience % 4;
  table.sums_[++table.last_] = sum;
  *request_out = reinterpret_cast<void*>(table.last_);  // NOLINT(performance-no-int-to-ptr): nobody follows it
  return status;
}

tokavg_status_t TableOfOne::test(void* user, void* request, std::int32_t* done_out) noexcept {
  TableOfOne& table = self(user);
  Sum& sum = table.sum_of(request);
  touch(sum);
  *done_out = 0;
  const tokavg_status_t status = table.next_status();
  if (status != TOKAVG_OK) {
    sum.gone = true;
  } else if (sum.tests_left == 0) {
    sum.gone = true;
    sum.given_back = true;
    *done_out = 1;
  } else if (sum.tests_left != kNever) {
    --sum.tests_left;
  }
  return status;
}

tokavg_status_t TableOfOne::cancel(void* user, void* request) noexcept {
  TableOfOne& table = self(user);
  Sum& sum = table.sum_of(request);
  touch(sum);
  sum.gone = true;
  const tokavg_status_t status = table.next_status();
  sum.given_back = status >= 0;
  return status;
}

tokavg_status_t TableOfOne::late_ranks(void* user, void* request, std::int32_t* ranks_out, std::int32_t capacity,
                                       std::int32_t* count_out) noexcept {
  TableOfOne& table = self(user);
  if (request != nullptr) touch(table.sum_of(request));
  for (std::int32_t i = 0; i < capacity; ++i) ranks_out[i] = static_cast<std::int32_t>(table.next()) - 100;
  *count_out = static_cast<std::int32_t>(table.next()) - 100;
  return table.next_status();
}

tokavg_status_t TableOfOne::abort(void* user) noexcept {
  EXPECT(!self(user).closed_, "abort of a table that is closed");
  return self(user).next_status();
}

tokavg_status_t TableOfOne::describe(void* user, void* request, char* text_out, std::int64_t capacity) noexcept {
  TableOfOne& table = self(user);
  if (request != nullptr) static_cast<void>(table.sum_of(request));
  std::memset(text_out, static_cast<int>(table.next()), static_cast<std::size_t>(capacity));
  text_out[capacity - 1] = '\0';
  return table.next_status();
}

void TableOfOne::close(void* user, std::int32_t collective) noexcept {
  TableOfOne& table = self(user);
  EXPECT(!table.closed_, "a table was closed twice");
  EXPECT(collective == 0 || collective == 1, "collective is %d", collective);
  for (const auto& [request, sum] : table.sums_) touch(sum);
  table.closed_ = true;
}

}  // namespace fuzz
