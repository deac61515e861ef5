// SPDX-License-Identifier: Apache-2.0
#include "demo/plot.hpp"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <memory>
#include <sstream>

#include "common/failure.hpp"
#include "common/files.hpp"

namespace tokavg_tool::demo {
namespace {

/// A logarithm has no zero: equal to the last bit is drawn here, below any difference of two doubles near 1.
constexpr double kFloor = 1e-17;

// Colours of Okabe and Ito, which people with any colour vision can tell apart; dashes differ too.
constexpr const char* kStyle = R"gnuplot(
set encoding utf8
set multiplot layout 2,1
set grid linecolor rgb "#dddddd"
set border 3 linecolor rgb "#444444"
set tics nomirror
set lmargin 12
set rmargin 3
set style line 1 linewidth 6 linecolor rgb "#bbbbbb"
set style line 2 linewidth 2 linecolor rgb "#d55e00"
set style line 3 linewidth 2 linecolor rgb "#0072b2" dashtype (12,6)
set style line 4 linewidth 2 linecolor rgb "#009e73" dashtype (3,6)
)gnuplot";

constexpr const char* kCurves = R"gnuplot(
set title "Loss of the four ways"
set ylabel "mean loss (nats per token)"
set xlabel "step"
set key top right
plot $data using 1:2 with lines linestyle 1 title "one process", \
     $data using 1:3 with lines linestyle 2 title "local means", \
     $data using 1:4 with lines linestyle 3 title "tokavg before backward", \
     $data using 1:5 with lines linestyle 4 title "tokavg after backward"
)gnuplot";

constexpr const char* kDifferences = R"gnuplot(
set title "Difference from one process (10^{-17}: none, every bit is equal)"
set ylabel "|loss − one process| (nats)"
set logscale y
set format y "10^{%L}"
set yrange [5e-18:10]
set key at graph 0.99,0.62 right
plot $data using 1:6 with lines linestyle 2 title "local means", \
     $data using 1:7 with lines linestyle 3 title "tokavg before backward", \
     $data using 1:8 with lines linestyle 4 title "tokavg after backward"
unset multiplot
set output
)gnuplot";

/// In gnuplot's single quotes only the quote itself is special.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "''" : std::string(1, c);
  }
  return result + "'";
}

std::string data_block(const Outcome& outcome) {
  std::ostringstream rows;
  rows << std::setprecision(17) << "$data << END_OF_DATA\n";
  for (std::size_t step = 0; step < static_cast<std::size_t>(outcome.options.steps); ++step) {
    rows << step + 1;
    for (const Way way : kWays) {
      rows << ' ' << outcome.curves.at(way).losses[step];
    }
    for (const Way way : {Way::kLocalMean, Way::kTokavgPre, Way::kTokavgPost}) {
      rows << ' ' << std::max(kFloor, outcome.difference(way).losses[step]);
    }
    rows << '\n';
  }
  rows << "END_OF_DATA\n";
  return rows.str();
}

struct ClosePipe {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};

}  // namespace

std::string write_plot(const Outcome& outcome, const std::string& path) {
  if (find_program("gnuplot").empty()) {
    return "no plot: gnuplot is not installed (Debian: apt install gnuplot-nox)";
  }
  std::unique_ptr<std::FILE, ClosePipe> pipe(popen("gnuplot", "w"));
  if (!pipe) {
    throw Failure("cannot start gnuplot");
  }
  const std::string script =
      "set terminal svg size 900,900 font \"sans-serif,15\" background rgb \"white\"\n"
      "set output " +
      quoted(path) + "\n" + data_block(outcome) + kStyle + kCurves + kDifferences;
  std::fwrite(script.data(), 1, script.size(), pipe.get());
  if (pclose(pipe.release()) != 0) {
    throw Failure("gnuplot could not draw '" + path + "'");
  }
  return {};
}

}  // namespace tokavg_tool::demo
