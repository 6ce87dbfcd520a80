// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#ifndef USE_ATEN_LIB
#include <executorch/extension/pybindings/llm_runner.h>

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <mutex>
#include <optional>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/pybindings/interpreter/gil.h>
#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/python_text.h>
#include <executorch/extension/pybindings/interpreter/raise.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

using llm::GenerationConfig;
using llm::Stats;

/// A runner that serializes its calls, except for stop(), which does not wait.
class PythonRunner {
 public:
  PythonRunner(const std::string& model_path, const std::string& tokenizer_path,
               std::optional<std::string> data_path) {
    const LogCapture capture;
    {
      const GilRelease released;
      auto tokenizer = llm::load_tokenizer(tokenizer_path);
      if (tokenizer != nullptr) {
        std::vector<std::string> files;
        if (data_path.has_value()) files.push_back(*data_path);
        runner_ = llm::create_text_llm_runner(model_path, std::move(tokenizer), std::move(files),
                                              -1, nullptr, "forward", Module::LoadMode::Mmap);
      }
      if (runner_ != nullptr) error_ = runner_->load();
    }
    if (runner_ == nullptr) {
      raise_error(runtime::Error::InvalidArgument,
                  "cannot make a runner of '" + model_path + "' and '" + tokenizer_path + "'");
    }
    expect_ok(error_, "loading '" + model_path + "' failed");
  }

  void generate(const std::string& prompt, const GenerationConfig& config,
                const py::object& on_text, const py::object& on_stats) {
    const LogCapture capture;
    runtime::Error error;
    {
      const GilRelease released;
      const std::lock_guard<std::mutex> lock(mutex_);
      llm::TextCallback text_callback;
      llm::StatsCallback stats_callback;
      if (!on_text.is_none()) {
        text_callback = [&](const std::string& text) {
          released.with_gil([&] { on_text(python_text(text)); });
        };
      }
      if (!on_stats.is_none()) {
        stats_callback = [&](const Stats& stats) { released.with_gil([&] { on_stats(stats); }); };
      }
      error = runner_->generate(prompt, config, text_callback, stats_callback);
    }
    expect_ok(error, "generate() failed");
  }

  uint64_t prefill(const std::string& prompt, int8_t num_bos, int8_t num_eos) {
    const LogCapture capture;
    const auto token = [&] {
      const GilRelease released;
      const std::lock_guard<std::mutex> lock(mutex_);
      return std::make_unique<runtime::Result<uint64_t>>(
          runner_->prefill(prompt, num_bos, num_eos));
    }();
    expect_ok(token->error(), "prefill() failed");
    return **token;
  }

  void stop() { runner_->stop(); }
  void reset() {
    const GilRelease released;
    const std::lock_guard<std::mutex> lock(mutex_);
    runner_->reset();
  }
  int64_t position() const { return runner_->position(); }
  int32_t vocab_size() const { return runner_->tokenizer().vocab_size(); }
  llm::Metadata metadata() const { return runner_->metadata(); }

 private:
  static void expect_ok(runtime::Error error, const std::string& message) {
    if (error != runtime::Error::Ok) raise_error(error, message);
  }

  std::unique_ptr<llm::TextLLMRunner> runner_;
  runtime::Error error_ = runtime::Error::Ok;
  std::mutex mutex_;
};

class PythonTokenizer {
 public:
  PythonTokenizer(const std::string& path, std::optional<std::vector<std::string>> special_tokens,
                  std::optional<std::string> pattern, size_t bos_token_index,
                  size_t eos_token_index) {
    const LogCapture capture;
    {
      const GilRelease released;
      std::unique_ptr<std::vector<std::string>> tokens;
      if (special_tokens.has_value()) {
        tokens = std::make_unique<std::vector<std::string>>(std::move(*special_tokens));
      }
      tokenizer_ = llm::load_tokenizer(path, std::move(tokens), std::move(pattern), bos_token_index,
                                       eos_token_index);
    }
    if (tokenizer_ == nullptr) {
      raise_error(runtime::Error::InvalidArgument, "cannot load the tokenizer '" + path + "'");
    }
  }
  std::vector<uint64_t> encode(const std::string& text, int8_t bos, int8_t eos) const {
    const LogCapture capture;
    auto tokens = tokenizer_->encode(text, bos, eos);
    if (!tokens.ok()) raise_error(runtime::Error::InvalidArgument, "the text cannot be encoded");
    return std::move(*tokens);
  }
  py::str decode(const std::vector<uint64_t>& tokens, bool skip_special_tokens) const {
    const LogCapture capture;
    std::string text;
    uint64_t previous = tokenizer_->bos_tok();
    for (const uint64_t token : tokens) {
      const auto piece = tokenizer_->decode(previous, token, skip_special_tokens);
      if (!piece.ok()) {
        raise_error(runtime::Error::InvalidArgument,
                    "the tokenizer has no token " + std::to_string(token));
      }
      text += *piece;
      previous = token;
    }
    return py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<ssize_t>(text.size()), "replace"));
  }
  int32_t vocab_size() const { return tokenizer_->vocab_size(); }
  uint64_t bos() const { return tokenizer_->bos_tok(); }
  uint64_t eos() const { return tokenizer_->eos_tok(); }

 private:
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
};

void bind_config(py::module_& module) {
  py::class_<GenerationConfig>(module, "GenerationConfig", py::module_local(),
                               "How text is generated.")
      .def(py::init([](bool echo, int32_t max_new_tokens, bool warming, int32_t seq_len,
                       float temperature, int8_t num_bos, int8_t num_eos, bool ignore_eos,
                       float topp, int32_t topk, float minp, float repetition_penalty,
                       uint64_t seed, std::vector<std::string> stop_strings) {
             GenerationConfig made;
             made.echo = echo;
             made.max_new_tokens = max_new_tokens;
             made.warming = warming;
             made.seq_len = seq_len;
             made.temperature = temperature;
             made.num_bos = num_bos;
             made.num_eos = num_eos;
             made.ignore_eos = ignore_eos;
             made.topp = topp;
             made.topk = topk;
             made.minp = minp;
             made.repetition_penalty = repetition_penalty;
             made.seed = seed;
             made.stop_strings = std::move(stop_strings);
             return made;
           }),
           py::kw_only(), py::arg("echo") = true, py::arg("max_new_tokens") = -1,
           py::arg("warming") = false, py::arg("seq_len") = -1, py::arg("temperature") = 0.8f,
           py::arg("num_bos") = 0, py::arg("num_eos") = 0, py::arg("ignore_eos") = false,
           py::arg("topp") = 1.0f, py::arg("topk") = 0, py::arg("minp") = 0.0f,
           py::arg("repetition_penalty") = 1.0f, py::arg("seed") = 0,
           py::arg("stop_strings") = std::vector<std::string>())
      .def_readwrite("echo", &GenerationConfig::echo)
      .def_readwrite("max_new_tokens", &GenerationConfig::max_new_tokens)
      .def_readwrite("warming", &GenerationConfig::warming)
      .def_readwrite("seq_len", &GenerationConfig::seq_len)
      .def_readwrite("temperature", &GenerationConfig::temperature)
      .def_readwrite("num_bos", &GenerationConfig::num_bos)
      .def_readwrite("num_eos", &GenerationConfig::num_eos)
      .def_readwrite("ignore_eos", &GenerationConfig::ignore_eos)
      .def_readwrite("topp", &GenerationConfig::topp)
      .def_readwrite("topk", &GenerationConfig::topk)
      .def_readwrite("minp", &GenerationConfig::minp)
      .def_readwrite("repetition_penalty", &GenerationConfig::repetition_penalty)
      .def_readwrite("seed", &GenerationConfig::seed)
      .def_readwrite("stop_strings", &GenerationConfig::stop_strings)
      .def("resolve_max_new_tokens", &GenerationConfig::resolve_max_new_tokens,
           py::arg("max_context_len"), py::arg("num_prompt_tokens"));
}

void bind_stats(py::module_& module) {
  py::class_<Stats>(module, "Stats", py::module_local(), "Times and counts of a generation.")
      .def(py::init<>())
      .def_readonly("SCALING_FACTOR_UNITS_PER_SECOND", &Stats::SCALING_FACTOR_UNITS_PER_SECOND)
      .def_readonly("model_load_start_ms", &Stats::model_load_start_ms)
      .def_readonly("model_load_end_ms", &Stats::model_load_end_ms)
      .def_readonly("inference_start_ms", &Stats::inference_start_ms)
      .def_readonly("token_encode_end_ms", &Stats::token_encode_end_ms)
      .def_readonly("prompt_eval_end_ms", &Stats::prompt_eval_end_ms)
      .def_readonly("first_token_ms", &Stats::first_token_ms)
      .def_readonly("inference_end_ms", &Stats::inference_end_ms)
      .def_readonly("aggregate_sampling_time_ms", &Stats::aggregate_sampling_time_ms)
      .def_readonly("num_prompt_tokens", &Stats::num_prompt_tokens)
      .def_readonly("num_generated_tokens", &Stats::num_generated_tokens)
      .def("to_json_string", &Stats::to_json_string)
      .def("reset", &Stats::reset, py::arg("all_stats") = false)
      .def("__repr__", &Stats::to_json_string);
}

}  // namespace

void bind_llm_runner(py::module_& module) {
  py::module_ own = module.def_submodule("_llm_runner", "Runners of language models.");
  bind_config(own);
  bind_stats(own);
  py::class_<PythonRunner>(own, "TextLLMRunner", py::module_local(),
                           "Generates text with an exported language model.")
      .def(py::init<const std::string&, const std::string&, std::optional<std::string>>(),
           py::arg("model_path"), py::arg("tokenizer_path"), py::arg("data_path") = py::none())
      .def("generate", &PythonRunner::generate, py::arg("prompt"), py::arg("config"),
           py::arg("token_callback") = py::none(), py::arg("stats_callback") = py::none())
      .def("prefill", &PythonRunner::prefill, py::arg("prompt"), py::arg("num_bos") = 0,
           py::arg("num_eos") = 0)
      .def("stop", &PythonRunner::stop)
      .def("reset", &PythonRunner::reset)
      .def_property_readonly("position", &PythonRunner::position)
      .def_property_readonly("metadata", &PythonRunner::metadata)
      .def("get_vocab_size", &PythonRunner::vocab_size);
  py::class_<PythonTokenizer>(own, "Tokenizer", py::module_local(), "A tokenizer of the runners.")
      .def(py::init<const std::string&, std::optional<std::vector<std::string>>,
                    std::optional<std::string>, size_t, size_t>(),
           py::arg("path"), py::kw_only(), py::arg("special_tokens") = py::none(),
           py::arg("pattern") = py::none(), py::arg("bos_token_index") = 0,
           py::arg("eos_token_index") = 1)
      .def("encode", &PythonTokenizer::encode, py::arg("text"), py::arg("bos") = 0,
           py::arg("eos") = 0)
      .def("decode", &PythonTokenizer::decode, py::arg("tokens"),
           py::arg("skip_special_tokens") = false)
      .def_property_readonly("vocab_size", &PythonTokenizer::vocab_size)
      .def_property_readonly("bos_tok", &PythonTokenizer::bos)
      .def_property_readonly("eos_tok", &PythonTokenizer::eos);
}

}  // namespace executorch::extension::pybindings
#endif
