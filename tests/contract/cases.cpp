// SPDX-License-Identifier: Apache-2.0
#include "contract/cases.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tokavg/tokavg.h"

namespace contract {
namespace {

using nlohmann::json;

double number(const json& value) {
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::runtime_error("not a number: " + text);
}

std::vector<double> numbers(const json& row) {
  std::vector<double> values;
  for (const json& value : row) values.push_back(number(value));
  return values;
}

// Rows of equal length, one after the other.
template <typename Value, typename Read>
std::vector<Value> flatten(const json& rows, std::int64_t cols, Read read) {
  std::vector<Value> values;
  for (const json& row : rows) {
    if (static_cast<std::int64_t>(row.size()) != cols) throw std::runtime_error("rows of different length");
    for (const json& value : row) values.push_back(read(value));
  }
  return values;
}

std::int32_t choose(const std::string& text, const std::vector<std::pair<std::string, std::int32_t>>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
  }
  throw std::runtime_error("unknown word: " + text);
}

Call read_call(const json& from) {
  Call call;
  const json& labels = from.at("labels");
  call.rows = static_cast<std::int64_t>(labels.size());
  call.cols = labels.empty() ? 0 : static_cast<std::int64_t>(labels.at(0).size());
  call.labels = flatten<std::int64_t>(labels, call.cols, [](const json& value) { return value.get<std::int64_t>(); });
  if (!from.at("losses").is_null()) call.losses = flatten<double>(from.at("losses"), call.cols, number);
  if (!from.at("weights").is_null()) call.weights = flatten<double>(from.at("weights"), call.cols, number);
  if (!from.at("mask").is_null()) {
    call.mask =
        flatten<std::uint8_t>(from.at("mask"), call.cols, [](const json& value) { return value.get<std::uint8_t>(); });
  }
  const std::vector<std::pair<std::string, std::int32_t>> floats = {{"f32", TOKAVG_DTYPE_F32},
                                                                    {"f64", TOKAVG_DTYPE_F64}};
  call.shift = from.at("shift").get<std::int64_t>();
  call.term = from.at("term").get<std::int32_t>();
  call.label_dtype = choose(from.at("dtype"), {{"i32", TOKAVG_DTYPE_I32}, {"i64", TOKAVG_DTYPE_I64}});
  call.loss_dtype = choose(from.at("loss_dtype"), floats);
  call.weights_dtype = choose(from.at("weights_dtype"), floats);
  call.same = from.at("same").get<bool>();
  call.discard = from.at("discard").get<bool>();
  return call;
}

RankInput read_rank(const json& from) {
  RankInput rank;
  for (const json& call : from.at("micro")) rank.calls.push_back(read_call(call));
  rank.done = from.at("done").get<bool>();
  rank.asks_only = from.at("asks_only").get<bool>();
  return rank;
}

Expect read_expect(const json& from) {
  Expect expect;
  expect.status =
      choose(from.at("status"), {{"OK", TOKAVG_OK}, {"EMPTY", TOKAVG_EMPTY}, {"COPIES", TOKAVG_ERR_COPIES}});
  if (expect.status < 0) return expect;
  expect.has_numbers = true;
  expect.tokens = from.at("tokens").get<std::vector<std::int64_t>>();
  expect.nonfinite = from.at("nonfinite").get<std::vector<std::int64_t>>();
  expect.weight_sum = numbers(from.at("weight_sum"));
  expect.factor = numbers(from.at("factor"));
  expect.mean_loss = numbers(from.at("mean_loss"));
  for (const json& terms : from.at("backward")) expect.backward.push_back(numbers(terms));
  expect.microbatches = from.at("microbatches").get<std::int64_t>();
  expect.microbatch_factor = number(from.at("microbatch_factor"));
  expect.empty_ranks = from.at("empty_ranks").get<std::int32_t>();
  expect.done_ranks = from.at("done_ranks").get<std::int32_t>();
  return expect;
}

Step read_step(const json& from) {
  Step step;
  for (const json& rank : from.at("ranks")) step.ranks.push_back(read_rank(rank));
  const json& expect = from.at("expect");
  if (expect.at("status") != "SELF") {
    step.expect.push_back(read_expect(expect));
    return step;
  }
  for (const json& rank : expect.at("per_rank")) step.expect.push_back(read_expect(rank));
  return step;
}

// A name that this function does not know is an error: a case must not pass because half of it was ignored.
void read_config(const json& from, Case& into) {
  tokavg_config_init(&into.config, static_cast<std::uint32_t>(sizeof into.config));
  tokavg_config_t& c = into.config;
  for (const auto& [name, value] : from.items()) {
    if (name == "comm") {
      into.self = value == "self";
    } else if (name == "gradient_reduction") {
      c.gradient_reduction = choose(value, {{"mean", TOKAVG_GRADIENT_MEAN}, {"sum", TOKAVG_GRADIENT_SUM}});
    } else if (name == "divisor") {
      c.divisor = choose(value, {{"tokens", TOKAVG_DIVISOR_TOKENS}, {"weights", TOKAVG_DIVISOR_WEIGHTS}});
    } else if (name == "label_copies") {
      c.label_copies = value.get<std::int32_t>();
    } else if (name == "gradient_ranks") {
      c.gradient_ranks = value.get<std::int32_t>();
    } else if (name == "microbatch_shards") {
      c.microbatch_shards = value.get<std::int32_t>();
    } else if (name == "terms") {
      c.terms = value.get<std::int32_t>();
    } else if (name == "ignore_index") {
      c.ignore_index = value.get<std::int64_t>();
    } else if (name == "accumulation_divisor") {
      c.accumulation_divisor = number(value);
    } else {
      throw std::runtime_error("unknown field of config: " + name);
    }
  }
}

}  // namespace

bool Step::has_losses() const {
  for (const RankInput& rank : ranks) {
    for (const Call& call : rank.calls) {
      if (call.losses) return true;
    }
  }
  return false;
}

std::vector<Case> read_cases(const std::string& path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  std::string line;
  try {
    if (!file) throw std::runtime_error("cannot be read");
    while (std::getline(file, line)) {
      if (line.empty()) continue;
      const json from = json::parse(line);
      Case& into = cases.emplace_back();
      into.id = from.at("id").get<std::string>();
      read_config(from.at("config"), into);
      for (const json& step : from.at("steps")) into.steps.push_back(read_step(step));
    }
    if (cases.empty()) throw std::runtime_error("holds no case");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s, case %zu: %s\n", path.c_str(), cases.size(), error.what());
    std::exit(2);
  }
  return cases;
}

}  // namespace contract
