// SPDX-License-Identifier: Apache-2.0
// large [--limit N] [count|losses|scale|cross_entropy]...: arrays of just over N / 2 and just over N elements. N is
// 2^32, so that no offset fits 31 bits, or 32; where there is not memory enough the arrays are smaller, and it says so.
#include "cuda/large.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "contract/team.hpp"

namespace cuda_test {

LargeTest::LargeTest(Checks& checks) : checks_(checks) {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_CUDA;
  config.timeout_ms = 30000;
  ok(tokavg_init(&config, &context_), "tokavg_init");
}

void LargeTest::ok(tokavg_status_t status, const char* call) const {
  checks_.expect(status == TOKAVG_OK, std::string(call) + ": " + contract::status_text(status, context_));
}

std::int64_t LargeTest::fitting(const char* what, std::int64_t n, std::size_t bytes_each) const {
  std::size_t free = 0;
  std::size_t total = 0;
  must(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const auto most = static_cast<std::int64_t>(free / 10 * 9 / bytes_each);
  if (n > most) {
    std::printf("%s: reduced from %lld elements: %.1f GiB are free\n", what, static_cast<long long>(n),
                static_cast<double>(free) / 0x1p30);
  }
  std::printf("%s: %lld elements\n", what, static_cast<long long>(std::min(n, most)));
  std::fflush(stdout);
  return std::min(n, most);
}

tokavg_ticket_t LargeTest::reduce() const {
  tokavg_ticket_t ticket = 0;
  ok(tokavg_reduce(context_, nullptr, stream_.get(), &ticket), "tokavg_reduce");
  return ticket;
}

tokavg_result_t LargeTest::result(tokavg_ticket_t ticket, std::int32_t what) const {
  ok(tokavg_flush(context_, stream_.get()), "tokavg_flush");
  tokavg_result_t result = empty_result();
  ok(tokavg_wait(context_, ticket, what, -1, &result), "tokavg_wait");
  return result;
}

}  // namespace cuda_test

using namespace cuda_test;

namespace {

struct Part {
  const char* name;
  void (*run)(const LargeTest& test, std::int64_t n);
};
constexpr std::array<Part, 4> kParts = {
    {{"count", large_count}, {"losses", large_losses}, {"scale", large_scale}, {"cross_entropy", large_cross_entropy}}};

}  // namespace

int main(int argc, char** argv) {
  std::int64_t limit = std::int64_t{1} << 32;
  std::vector<std::string> wanted(argv + 1, argv + argc);
  if (wanted.size() >= 2 && wanted[0] == "--limit") {
    limit = std::strtoll(wanted[1].c_str(), nullptr, 10);
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  }
  Checks checks;
  const LargeTest test(checks);
  for (const Part& part : kParts) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), part.name) == wanted.end()) continue;
    for (const std::int64_t n : {limit / 2, limit}) part.run(test, n + 3001);
  }
  return checks.end("large");
}
