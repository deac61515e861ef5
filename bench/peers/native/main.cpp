// SPDX-License-Identifier: Apache-2.0
// tokavg_peers [--quick] FILE: cross entropy of tokavg, plain loops and oneDNN, interleaved, on one thread. Writes one
// JSON object to FILE and exits with 1 where two of them do not agree.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer.hpp"
#include "problem.hpp"

namespace {

using namespace tokavg::peers;
using Clock = std::chrono::steady_clock;

struct Plan {
  bool quick = false;
  std::string file;
};

struct Report {
  std::vector<std::string> results;
  std::vector<std::string> notes;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double run(Peer& peer, const Problem& problem, bool train) {
  return train ? peer.forward_backward(problem) : peer.forward(problem);
}

// The first round checks the answers and warms everything up; then all peers take turns.
void measure(const Data& data, Peers& peers, bool train, const Plan& plan, Report& report) {
  const Problem& problem = data.problem();
  std::vector<std::vector<double>> seconds(peers.size());
  const auto begin = Clock::now();
  const double budget_s = plan.quick ? 0.7 : 5.0;
  for (std::size_t round = 0; round < 12; round++) {
    const std::chrono::duration<double> spent = Clock::now() - begin;
    if (round >= 4 && spent.count() > budget_s) break;
    for (std::size_t i = 0; i < peers.size(); i++) {
      data.restore();
      const auto start = Clock::now();
      const double loss = run(*peers[i], problem, train);
      const std::chrono::duration<double> elapsed = Clock::now() - start;
      data.check_loss(*peers[i], loss);
      if (round > 0) {
        seconds[i].push_back(elapsed.count());
      } else if (train) {
        data.check_gradient(*peers[i]);
      }
    }
  }
  const double elements = static_cast<double>(problem.rows) * static_cast<double>(problem.vocab);
  const double tokavg_ns = median(seconds[0]) * 1e9 / elements;
  const char* dtype = problem.dtype == Dtype::kF32 ? "f32" : "bf16";
  const char* pass = train ? "forward+backward" : "forward";
  for (std::size_t i = 1; i < peers.size(); i++) {
    char line[512];
    const double ns = median(seconds[i]) * 1e9 / elements;
    (void)std::snprintf(line, sizeof line,
                        "{\"peer\": \"%s\", \"dtype\": \"%s\", \"vocab\": %lld, \"pass\": \"%s\", "
                        "\"ns_per_element\": %.4f, \"tokavg_ns_per_element\": %.4f, \"config\": \"%s\"}",
                        peers[i]->about().name.c_str(), dtype, static_cast<long long>(problem.vocab), pass, ns,
                        tokavg_ns, peers[i]->about().config.c_str());
    report.results.emplace_back(line);
  }
  std::cout << "peers:   " << dtype << " " << problem.vocab << " " << pass << ": " << seconds[0].size() << " rounds of "
            << peers.size() << " peers\n"
            << std::flush;
}

void measure_shape(Dtype dtype, std::int64_t rows, std::int64_t vocab, const Plan& plan, Report& report) {
  const Data data(dtype, rows, vocab);
  Peers peers;
  add_tokavg(data.problem(), peers);
  add_plain(data.problem(), peers);
  add_onednn(data.problem(), peers, report.notes);
  for (const bool train : {false, true}) measure(data, peers, train, plan, report);
}

void write_list(std::ostream& out, const std::vector<std::string>& items, const char* quote) {
  for (std::size_t i = 0; i < items.size(); i++) out << (i > 0 ? ",\n" : "\n") << quote << items[i] << quote;
}

void write(const Plan& plan, Report& report) {
  std::sort(report.notes.begin(), report.notes.end());
  report.notes.erase(std::unique(report.notes.begin(), report.notes.end()), report.notes.end());
  std::ofstream out(plan.file);
  out << "{\"results\": [";
  write_list(out, report.results, "");
  out << "],\n\"notes\": [";
  write_list(out, report.notes, "\"");
  out << "],\n\"versions\": {\"onednn\": \"" << onednn_version() << "\", \"compiler\": \"" << __VERSION__ << "\"}}\n";
  out.close();
  if (!out) throw std::runtime_error("cannot write " + plan.file);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i < argc; i++) {
    if (std::string(argv[i]) == "--quick") {
      plan.quick = true;
    } else {
      plan.file = argv[i];
    }
  }
  if (plan.file.empty()) {
    std::cerr << "use: tokavg_peers [--quick] FILE\n";
    return 2;
  }
  try {
    Report report;
    for (const Dtype dtype : {Dtype::kF32, Dtype::kBf16}) {
      // 32 Mi logits: beyond every cache. With --quick half as many, of the smaller vocabulary alone.
      measure_shape(dtype, plan.quick ? 512 : 1024, 32000, plan, report);
      if (!plan.quick) measure_shape(dtype, 256, 128256, plan, report);
    }
    write(plan, report);
  } catch (const std::exception& error) {
    std::cerr << "tokavg_peers: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
