// SPDX-License-Identifier: Apache-2.0
#include "demo/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "common/files.hpp"

namespace tokavg_tool::demo {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

/// About a dozen steps: the first ones, where curves part, then evenly to the last.
std::set<int> selected_steps(int steps) {
  std::set<int> selected = {1, 2, 5, steps};
  for (int tenth = 1; tenth < 10; ++tenth) {
    selected.insert(steps * tenth / 10);
  }
  std::erase_if(selected, [steps](int step) { return step < 1 || step > steps; });
  return selected;
}

void print_losses(const Outcome& outcome, std::ostream& out) {
  out << "mean loss in nats per token\n" << format("%6s", "step");
  for (const Way way : kWays) {
    out << format(" %18s", name_of(way).data());
  }
  out << '\n';
  for (const int step : selected_steps(outcome.options.steps)) {
    out << format("%6d", step);
    for (const Way way : kWays) {
      const auto index = static_cast<std::size_t>(step - 1);
      out << format(" %18.14f", outcome.curves.at(way).losses[index]);
    }
    out << '\n';
  }
}

void print_differences(const Outcome& outcome, std::ostream& out) {
  out << "\nlargest difference from one_process over all steps\n"
      << format("%-12s %16s %26s %22s\n", "way", "loss (nats)", "gradient norm (relative)", "exposed (% of a step)");
  for (const Way way : kWays) {
    if (way == Way::kOneProcess) {
      continue;
    }
    const Difference difference = outcome.difference(way);
    out << format("%-12s %16.2e %26.2e", name_of(way).data(), difference.max_loss, difference.max_gradient_norm);
    if (way != Way::kLocalMean) {
      out << format(" %22.3f", 100.0 * outcome.exposed_fraction(way));
    }
    out << '\n';
  }
}

/// More ranks than cores take turns; that is not the reduction's fault.
void print_remark(const Outcome& outcome, std::ostream& out) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores > 0 && outcome.options.ranks > cores) {
    out << outcome.options.ranks << " ranks share " << cores << " cores: waiting for a core counts as exposed\n";
  }
}

void print_first_losses(const Outcome& outcome, std::ostream& out) {
  out << "\nfirst loss, every bit\n";
  for (const Way way : kWays) {
    out << format("%-12s %s\n", name_of(way).data(), hexadecimal(outcome.curves.at(way).losses.front()).c_str());
  }
}

}  // namespace

std::string hexadecimal(double value) { return format("%a", value); }

Difference Outcome::difference(Way way) const {
  const Curve& reference = curves.at(Way::kOneProcess);
  const Curve& curve = curves.at(way);
  Difference difference;
  for (std::size_t step = 0; step < curve.losses.size(); ++step) {
    difference.losses.push_back(std::abs(curve.losses[step] - reference.losses[step]));
    const double norm = reference.gradient_norms[step];
    difference.max_gradient_norm =
        std::max(difference.max_gradient_norm, std::abs(curve.gradient_norms[step] - norm) / norm);
  }
  difference.max_loss = *std::ranges::max_element(difference.losses);
  return difference;
}

double Outcome::exposed_fraction(Way way) const {
  const Curve& curve = curves.at(way);
  return curve.exposed_seconds / curve.step_seconds;
}

double Outcome::exposed_fraction() const {
  return std::max(exposed_fraction(Way::kTokavgPre), exposed_fraction(Way::kTokavgPost));
}

void print_table(const Outcome& outcome, std::ostream& out) {
  const Options& options = outcome.options;
  out << "tokavg demo: " << options.ranks << " ranks (" << outcome.ranks << "), " << options.accumulation
      << " accumulation steps of " << options.microbatches << " microbatches, " << options.lines
      << " lines a step\ntext: " << options.text << "\n\n";
  print_losses(outcome, out);
  print_differences(outcome, out);
  print_remark(outcome, out);
  print_first_losses(outcome, out);
  out.flush();
}

nlohmann::json to_json(const Outcome& outcome) {
  const Options& options = outcome.options;
  nlohmann::json ways;
  for (const Way way : kWays) {
    const Curve& curve = outcome.curves.at(way);
    const Difference difference = outcome.difference(way);
    ways[std::string(name_of(way))] = {{"losses", curve.losses},
                                       {"gradient_norms", curve.gradient_norms},
                                       {"first_loss_hex", hexadecimal(curve.losses.front())},
                                       {"max_loss_difference", difference.max_loss},
                                       {"max_gradient_norm_difference", difference.max_gradient_norm}};
  }
  return {{"ranks", options.ranks},
          {"accumulation", options.accumulation},
          {"microbatches", options.microbatches},
          {"steps", options.steps},
          {"text", options.text},
          {"exposed_fraction", outcome.exposed_fraction()},
          {"ways", ways}};
}

void write_json(const Outcome& outcome, const std::string& path) { write_file(path, to_json(outcome).dump(2) + "\n"); }

}  // namespace tokavg_tool::demo
