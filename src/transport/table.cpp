// SPDX-License-Identifier: Apache-2.0
#include "transport/table.hpp"

#include <algorithm>
#include <array>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/struct_copy.hpp"
#include "transport/rank_list.hpp"

namespace tokavg {
namespace {

using Json = nlohmann::ordered_json;

// The words that a table works on. They are the transport's and not the core's, since a table without cancel may write
// to them until it is closed.
using Buffers = std::list<std::vector<std::uint64_t>>;

// The calls of the table that are made in more than one place.
class Table {
 public:
  Table(const tokavg_transport_t& entries, TableSource source) : entries_(entries), source_(std::move(source)) {}

  [[nodiscard]] const tokavg_transport_t& entries() const noexcept { return entries_; }
  [[nodiscard]] const TableSource& source() const noexcept { return source_; }

  // Empty when the table has nothing to say.
  [[nodiscard]] std::string describe(void* request) const {
    std::array<char, 4096> text{};
    if (entries_.describe == nullptr) return {};
    const tokavg_status_t status = entries_.describe(entries_.user, request, text.data(), text.size() - 1);
    return status < 0 ? std::string() : std::string(text.data());
  }

  // Ascending, unique and in range, whatever the table says.
  [[nodiscard]] std::vector<std::int32_t> late_ranks(void* request) const {
    if (entries_.late_ranks == nullptr) return {};
    std::vector<std::int32_t> late(static_cast<std::size_t>(entries_.ranks), -1);
    std::int32_t count = 0;
    if (entries_.late_ranks(entries_.user, request, late.data(), entries_.ranks, &count) < 0) return {};
    late.resize(static_cast<std::size_t>(std::clamp(count, 0, entries_.ranks)));
    std::erase_if(late, [this](std::int32_t rank) { return rank < 0 || rank >= entries_.ranks; });
    std::sort(late.begin(), late.end());
    late.erase(std::unique(late.begin(), late.end()), late.end());
    return late;
  }

  // request: NULL after a failed start, which leaves nobody to ask for the late ranks later.
  [[noreturn]] void throw_status(const char* function, tokavg_status_t status, void* request) const {
    std::string details;
    if (source_.is_ours) {
      details = request == nullptr ? reported_error() : describe(request);
      const std::vector<std::int32_t> late =
          request == nullptr && status == TOKAVG_ERR_TIMEOUT ? late_ranks(request) : std::vector<std::int32_t>();
      if (!late.empty()) details = name_ranks(late) + " did not arrive before the deadline";
    }
    throw_table_status(source_.name, function, status, details);
  }

 private:
  // What a plugin's description of itself says under "error".
  [[nodiscard]] std::string reported_error() const {
    const Json facts = Json::parse(describe(nullptr), nullptr, false);
    if (!facts.is_object() || !facts.contains("error") || !facts["error"].is_string()) return {};
    return facts["error"].get<std::string>();
  }

  const tokavg_transport_t entries_;
  const TableSource source_;
};

class TableReduction final : public Reduction {
 public:
  TableReduction(const Table& table, Buffers& buffers, std::span<std::uint64_t> words)
      : table_(table), buffers_(buffers), words_(words) {
    buffer_ = buffers_.emplace(buffers_.end(), words.begin(), words.end());
  }

  ~TableReduction() override {
    if (state_ == State::kDone) return;
    const tokavg_transport_t& entries = table_.entries();
    // After an error, or with no cancel that worked, the buffer stays until the transport is closed. Our own plugin is
    // not asked: it would talk to MPI, which tokavg_free may not do on any thread, and close ends its sums without.
    if (state_ != State::kRunning || entries.cancel == nullptr || table_.source().is_ours) return;
    if (entries.cancel(entries.user, request_) >= 0) buffers_.erase(buffer_);
  }

  void start() {
    const tokavg_transport_t& entries = table_.entries();
    const std::int64_t n_words = static_cast<std::int64_t>(buffer_->size());
    const tokavg_status_t status = entries.start(entries.user, buffer_->data(), n_words, &request_);
    if (status != TOKAVG_OK) table_.throw_status("start", status, nullptr);
    state_ = State::kRunning;
  }

  bool test() override {
    if (state_ == State::kDone) return true;
    if (failure_.has_value()) throw Error(*failure_);
    const tokavg_transport_t& entries = table_.entries();
    std::int32_t done = 0;
    const tokavg_status_t status = entries.test(entries.user, request_, &done);
    if (status != TOKAVG_OK) fail_with(status);
    if (done == 0) return false;
    std::copy(buffer_->begin(), buffer_->end(), words_.begin());
    buffers_.erase(buffer_);
    state_ = State::kDone;
    return true;
  }

  // Asked of the table once: the list is what the ranks agreed on when the deadline passed.
  std::vector<std::int32_t> late_ranks() override {
    const bool may_ask = state_ == State::kRunning || (state_ == State::kFailed && table_.source().is_ours);
    if (!late_.has_value() && may_ask) late_ = table_.late_ranks(request_);
    return late_.value_or(std::vector<std::int32_t>());
  }

  [[nodiscard]] std::string describe() const override {
    if (state_ == State::kDone) return "done";
    if (failure_.has_value()) return failure_->text();
    // To the table a NULL request is the transport itself.
    const std::string text = request_ == nullptr ? std::string() : table_.describe(request_);
    return text.empty() ? "not complete" : text;
  }

 private:
  enum class State { kNew, kRunning, kDone, kFailed };

  [[noreturn]] void fail_with(tokavg_status_t status) {
    state_ = State::kFailed;  // first of all: the request is gone
    try {
      table_.throw_status("test", status, request_);
    } catch (const Error& error) {
      failure_.emplace(error);
      throw;
    }
  }

  const Table& table_;
  Buffers& buffers_;
  Buffers::iterator buffer_;
  const std::span<std::uint64_t> words_;
  void* request_ = nullptr;
  State state_ = State::kNew;
  std::optional<Error> failure_;
  std::optional<std::vector<std::int32_t>> late_;
};

class TableTransport final : public Transport {
 public:
  TableTransport(const tokavg_transport_t& entries, TableSource source) : table_(entries, std::move(source)) {}

  ~TableTransport() override { close_once(0); }

  [[nodiscard]] std::int32_t rank() const override { return table_.entries().rank; }
  [[nodiscard]] std::int32_t ranks() const override { return table_.entries().ranks; }

  std::unique_ptr<Reduction> start(std::span<std::uint64_t> words) override {
    constexpr std::size_t kMostWords = 4096;  // what transport_plugin.h promises
    if (words.empty() || words.size() > kMostWords) {
      fail(TOKAVG_ERR_INTERNAL, "a sum of %zu words; a table is promised 1 to %zu", words.size(), kMostWords);
    }
    auto reduction = std::make_unique<TableReduction>(table_, buffers_, words);
    reduction->start();
    return reduction;
  }

  void abort() override {
    const tokavg_transport_t& entries = table_.entries();
    // Nobody could act on its status: the context has failed already.
    if (entries.abort != nullptr) static_cast<void>(entries.abort(entries.user));
  }

  [[nodiscard]] bool progresses() const override { return has(TOKAVG_TRANSPORT_CAN_PROGRESS); }
  [[nodiscard]] bool abort_from_any_thread() const override { return has(TOKAVG_TRANSPORT_CAN_ANY_THREAD); }
  void close() override { close_once(1); }

  [[nodiscard]] std::string describe() const override {
    const TableSource& source = table_.source();
    Json facts = {{"transport", source.name},
                  {"rank", rank()},
                  {"ranks", ranks()},
                  {"any_thread", has(TOKAVG_TRANSPORT_CAN_ANY_THREAD)},
                  {"progress", has(TOKAVG_TRANSPORT_CAN_PROGRESS)}};
    if (!source.file.empty()) facts["plugin"] = source.file;
    const std::string own = closed_ ? std::string() : table_.describe(nullptr);
    Json state = Json::parse(own, nullptr, false);
    if (!own.empty()) facts["state"] = state.is_object() ? std::move(state) : Json(own);
    // A table's text may be anything; what is not UTF-8 must not make a description throw.
    return facts.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  [[nodiscard]] bool has(std::uint32_t capability) const { return (table_.entries().capabilities & capability) != 0; }

  void close_once(std::int32_t collective) noexcept {
    if (closed_) return;
    closed_ = true;
    const tokavg_transport_t& entries = table_.entries();
    if (entries.close != nullptr) entries.close(entries.user, collective);
  }

  const Table table_;
  Buffers buffers_;  // freed after close
  bool closed_ = false;
};

}  // namespace

tokavg_transport_t read_table(const char* argument, const tokavg_transport_t* table) {
  const tokavg_transport_t ours = read_struct(argument, table);
  if (ours.version != TOKAVG_TRANSPORT_VERSION) {
    fail(TOKAVG_ERR_UNSUPPORTED, "%s.version is %u; this library knows version %d", argument, ours.version,
         static_cast<int>(TOKAVG_TRANSPORT_VERSION));
  }
  if (ours.reserved != 0) {
    fail(TOKAVG_ERR_UNSUPPORTED, "%s.reserved is %u; it has to be 0", argument, ours.reserved);
  }
  if (ours.ranks < 1) fail(TOKAVG_ERR_CONFIG, "%s.ranks is %d; there is at least one rank", argument, ours.ranks);
  if (ours.rank < 0 || ours.rank >= ours.ranks) {
    fail(TOKAVG_ERR_CONFIG, "%s.rank is %d; it has to be 0 to ranks - 1 = %d", argument, ours.rank, ours.ranks - 1);
  }
  if (ours.start == nullptr) fail(TOKAVG_ERR_CONFIG, "%s.start is NULL; only optional entries may be", argument);
  if (ours.test == nullptr) fail(TOKAVG_ERR_CONFIG, "%s.test is NULL; only optional entries may be", argument);
  return ours;
}

std::unique_ptr<Transport> make_table_transport(const tokavg_transport_t& table, TableSource source) {
  return std::make_unique<TableTransport>(table, std::move(source));
}

void throw_table_status(const char* name, const char* function, tokavg_status_t status, const std::string& details) {
  const bool known = status < 0 && status >= TOKAVG_ERR_INTERNAL;
  if (known && !details.empty()) throw Error(status, details);
  throw Error(
      known ? status : TOKAVG_ERR_TRANSPORT,
      format("%s of the %s transport returned %d (%s)%s%s", function, name, status,
             known ? status_name(status) : "not an error of tokavg", details.empty() ? "" : ": ", details.c_str()));
}

}  // namespace tokavg
