// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/files.hpp"

namespace tokavg_tool::bench {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

}  // namespace

Quartiles Results::exposed(Mode mode) const {
  const std::vector<double>& own = samples.at(mode).step_seconds;
  const std::vector<double>& off = samples.at(baseline_of(mode)).step_seconds;
  std::vector<double> shares;
  for (std::size_t step = 0; step < own.size(); ++step) {
    shares.push_back(own[step] / off[step] - 1.0);
  }
  return quartiles(std::move(shares));
}

double Results::aa_fraction() const { return exposed(Mode::kOffAgain).median; }

bool Results::refused() const { return std::abs(aa_fraction()) > options.aa_limit; }

void print_refusal(const Results& results, std::ostream& out) {
  out << format(
             "tokavg bench: no report: two equal runs (off and off again) differ by %.2f %% of a "
             "step in the median, the limit is %.2f %%. Run on a quieter machine, with at most "
             "one rank a core, or with more --steps.",
             100.0 * results.aa_fraction(), 100.0 * results.options.aa_limit)
      << std::endl;
}

void print_table(const Results& results, std::ostream& out) {
  const Options& options = results.options;
  out << format("tokavg bench: %d ranks (%s), %d steps of %.1f + %.1f ms +-%.0f %%, %d gradients\n\n", results.ranks,
                results.mpi.c_str(), options.steps, options.forward_ms, options.backward_ms, 100.0 * options.jitter,
                options.gradient)
      << format("%-12s %10s %14s %20s %24s\n", "mode", "step (ms)", "exposed (%)", "quartiles (%)",
                "waiting, worst (ms)");
  for (const auto& [mode, samples] : results.samples) {
    const Quartiles exposed = results.exposed(mode);
    const std::string range = format("%.2f to %.2f", 100.0 * exposed.lower, 100.0 * exposed.upper);
    out << format("%-12s %10.3f %14.2f %20s %24.3f\n", name_of(mode).data(), 1e3 * median(samples.step_seconds),
                  100.0 * exposed.median, range.c_str(), 1e3 * median(samples.wait_seconds));
  }
  out << "\noff_alone and iallreduce ran before there was a context: its thread would have moved MPI_Iallreduce on "
         "too\n"
      << format("cost of the calls: tokavg_count_add + tokavg_reduce %.2f us, MPI_Iallreduce %.2f us\n",
                results.calls.count_add_reduce_us, results.calls.iallreduce_start_us);
  out.flush();
}

void write_json(const Results& results, const std::string& path) {
  const Options& options = results.options;
  nlohmann::json json = {{"ranks", results.ranks},
                         {"mpi", results.mpi},
                         {"steps", options.steps},
                         {"forward_ms", options.forward_ms},
                         {"backward_ms", options.backward_ms},
                         {"jitter", options.jitter},
                         {"gradient", options.gradient},
                         {"aa_fraction", results.aa_fraction()},
                         {"refused", results.refused()}};
  if (!results.refused()) {
    for (const auto& [mode, samples] : results.samples) {
      if (mode == Mode::kOffAgain || mode == Mode::kOffAlone) {
        continue;
      }
      const Quartiles exposed = results.exposed(mode);
      json["modes"][std::string(name_of(mode))] = {{"exposed_fraction", exposed.median},
                                                   {"exposed_quartiles", {exposed.lower, exposed.upper}},
                                                   {"step_seconds", median(samples.step_seconds)},
                                                   {"wait_seconds_worst", median(samples.wait_seconds)}};
    }
    json["calls"] = {{"count_add_reduce_us", results.calls.count_add_reduce_us},
                     {"iallreduce_start_us", results.calls.iallreduce_start_us}};
  }
  write_file(path, json.dump(2) + "\n");
}

}  // namespace tokavg_tool::bench
