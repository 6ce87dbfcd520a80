// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/stats.h>

#include <cstdio>

namespace executorch::extension::llm {

namespace {
double rate(int64_t tokens, long milliseconds) {
  return milliseconds <= 0 || tokens <= 0 ? 0.0 : double(tokens) * 1000 / double(milliseconds);
}
}  // namespace

double Stats::tokens_per_second() const {
  return rate(num_generated_tokens - 1, inference_end_ms - first_token_ms);
}

double Stats::prompt_tokens_per_second() const {
  return rate(num_prompt_tokens, prompt_eval_end_ms - token_encode_end_ms);
}

void Stats::reset(bool all_stats) {
  const long start = model_load_start_ms, end = model_load_end_ms;
  *this = {};
  if (!all_stats) {
    model_load_start_ms = start;
    model_load_end_ms = end;
  }
}

std::string Stats::to_json_string() const {
  const std::pair<const char*, int64_t> members[] = {
      {"prompt_tokens", num_prompt_tokens},
      {"generated_tokens", num_generated_tokens},
      {"model_load_start_ms", model_load_start_ms},
      {"model_load_end_ms", model_load_end_ms},
      {"inference_start_ms", inference_start_ms},
      {"inference_end_ms", inference_end_ms},
      {"prompt_eval_end_ms", prompt_eval_end_ms},
      {"first_token_ms", first_token_ms},
      {"aggregate_sampling_time_ms", aggregate_sampling_time_ms},
      {"SCALING_FACTOR_UNITS_PER_SECOND", SCALING_FACTOR_UNITS_PER_SECOND}};
  std::string json;
  for (const auto& [name, value] : members) {
    json += (json.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + std::to_string(value);
  }
  return json + "}";
}

void print_report(const Stats& stats) {
  std::fprintf(stderr, "\nPyTorchObserver %s\n", stats.to_json_string().c_str());
  std::fprintf(stderr,
               "prompt: %lld tokens, %.1f tokens/s; generated: %lld tokens, %.1f tokens/s\n",
               static_cast<long long>(stats.num_prompt_tokens), stats.prompt_tokens_per_second(),
               static_cast<long long>(stats.num_generated_tokens), stats.tokens_per_second());
}

}  // namespace executorch::extension::llm
