// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Times and counts of a generation. Times are milliseconds since an arbitrary moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace executorch::extension::llm {

inline long time_in_ms() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return long(std::chrono::duration_cast<milliseconds>(now).count());
}

struct Stats {
  long SCALING_FACTOR_UNITS_PER_SECOND = 1000;
  long model_load_start_ms = 0;
  long model_load_end_ms = 0;
  long inference_start_ms = 0;
  long token_encode_end_ms = 0;
  long model_execution_start_ms = 0;
  long model_execution_end_ms = 0;
  /// The prompt is in the cache.
  long prompt_eval_end_ms = 0;
  long first_token_ms = 0;
  long inference_end_ms = 0;
  long aggregate_sampling_time_ms = 0;
  int64_t num_prompt_tokens = 0;
  int64_t num_generated_tokens = 0;

  /// Start of the sampling that on_sampling_end() adds to aggregate_sampling_time_ms.
  long aggregate_sampling_timer_start_timestamp = 0;

  void on_model_execution_begin() { model_execution_start_ms = time_in_ms(); }
  void on_model_execution_end() { model_execution_end_ms = time_in_ms(); }
  void on_sampling_begin() { aggregate_sampling_timer_start_timestamp = time_in_ms(); }
  void on_sampling_end() {
    aggregate_sampling_time_ms += time_in_ms() - aggregate_sampling_timer_start_timestamp;
    aggregate_sampling_timer_start_timestamp = 0;
  }
  /// Generated tokens per second after the first one; 0 for fewer than two tokens.
  double tokens_per_second() const;
  /// Prompt tokens per second; 0 without a prompt.
  double prompt_tokens_per_second() const;

  /// Clears everything except the times of loading; with `all_stats`, those too.
  void reset(bool all_stats = false);
  std::string to_json_string() const;
};

inline std::string stats_to_json_string(const Stats& stats) { return stats.to_json_string(); }

/// Default top-p of samplers: they choose among the tokens that have this share of the probability.
inline constexpr float kTopp = 0.9f;

/// Logs the statistics: a line "PyTorchObserver {...}" and rates for people.
void print_report(const Stats& stats);

}  // namespace executorch::extension::llm

// Documented names of the same things.
namespace executorch::llm {
using ::executorch::extension::llm::kTopp;
using ::executorch::extension::llm::print_report;
using ::executorch::extension::llm::Stats;
}  // namespace executorch::llm
