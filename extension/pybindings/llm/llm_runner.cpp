// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#ifndef USE_ATEN_LIB
#include <executorch/extension/pybindings/llm/llm_runner.h>

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/pybindings/interpreter/gil.h>
#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/python_text.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/interpreter/sealed_types.h>
#include <executorch/extension/pybindings/llm/progress_loader.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

using llm::GenerationConfig;
using llm::MultimodalInput;
using llm::MultimodalRunner;
using llm::Stats;
using llm::TextLLMRunner;
using runtime::Error;
using Inputs = std::vector<MultimodalInput>;

void expect_ok(Error error, const std::string& message) {
  if (error != Error::Ok) raise_error(error, message);
}

std::unique_ptr<runtime::DataLoader> open_file(const std::string& path,
                                               const std::shared_ptr<LoadProgress>& progress,
                                               Error& error) {
  auto opened = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  if (!opened.ok()) {
    error = opened.error();
    return nullptr;
  }
  return std::make_unique<ProgressLoader>(std::make_unique<MmapDataLoader>(std::move(*opened)),
                                          progress);
}

template <typename Runner>
std::unique_ptr<Runner> make_runner(std::unique_ptr<Module> module,
                                    std::unique_ptr<tokenizers::Tokenizer> tokenizer,
                                    [[maybe_unused]] const std::string& method_name) {
  if constexpr (std::is_same_v<Runner, TextLLMRunner>) {
    return llm::create_text_llm_runner(std::move(module), std::move(tokenizer), -1.0f, method_name);
  } else {
    return llm::create_multimodal_runner(std::move(module), std::move(tokenizer));
  }
}

/// A runner that serializes its calls. stop(), and the functions that read the runner, do not wait
/// for a call of another thread.
template <typename Runner>
class PythonRunner {
 public:
  PythonRunner(const std::string& model_path, const std::string& tokenizer_path,
               const std::optional<std::string>& data_path, const py::object& on_progress,
               const std::string& method_name) {
    const LogCapture capture;
    expect_path(model_path);
    expect_path(tokenizer_path);
    if (data_path.has_value()) expect_path(*data_path);
    std::exception_ptr raised;
    Error error = Error::InvalidArgument;
    {
      const GilRelease released;
      const auto progress = std::make_shared<LoadProgress>([&](size_t read, size_t total) {
        if (on_progress.is_none()) return true;
        return released.with_gil([&] {
          try {
            on_progress(read, total);
            return true;
          } catch (const py::error_already_set&) {
            raised = std::current_exception();
            return false;
          }
        });
      });
      auto tokenizer = llm::load_tokenizer(tokenizer_path);
      std::unique_ptr<Module> module;
      if (tokenizer != nullptr) module = open(model_path, data_path, progress, error);
      if (module != nullptr) {
        error = Error::InvalidArgument;
        runner_ = make_runner<Runner>(std::move(module), std::move(tokenizer), method_name);
      }
      if (runner_ != nullptr) error = runner_->load();
      if (error == Error::Ok) progress->finish();
      if (runner_ != nullptr) publish();
    }
    if (raised != nullptr) std::rethrow_exception(raised);
    expect_ok(error, "cannot make a runner of '" + model_path + "' and '" + tokenizer_path + "'");
  }

  /// `config` is a copy, which other threads cannot change meanwhile.
  template <typename Prompt>
  void generate(const Prompt& prompt, GenerationConfig config, const py::object& on_text,
                const py::object& on_stats) {
    refuse_reentry();
    const LogCapture capture;
    Error error;
    {
      const GilRelease released;
      const CallLock lock(*this);
      llm::TextCallback text_callback;
      llm::StatsCallback stats_callback;
      if (!on_text.is_none()) {
        text_callback = [&](const std::string& text) {
          publish();
          released.with_gil([&] { on_text(python_text(text)); });
        };
      }
      if (!on_stats.is_none()) {
        stats_callback = [&](const Stats& stats) {
          publish();
          released.with_gil([&] { on_stats(stats); });
        };
      }
      error = runner_->generate(prompt, config, text_callback, stats_callback);
    }
    expect_ok(error, "generate() failed");
  }

  uint64_t prefill(const Inputs& inputs, int32_t num_bos, int32_t num_eos) {
    refuse_reentry();
    const LogCapture capture;
    uint64_t token = 0;
    const Error error = [&] {
      const GilRelease released;
      const CallLock lock(*this);
      const auto prefilled = runner_->prefill(inputs, num_bos, num_eos);
      if (prefilled.ok()) token = *prefilled;
      return prefilled.error();
    }();
    expect_ok(error, "prefill() failed");
    return token;
  }

  void stop() { runner_->stop(); }
  void reset() {
    refuse_reentry();
    const GilRelease released;
    const CallLock lock(*this);
    runner_->reset();
  }
  int64_t position() const {
    const std::lock_guard<std::mutex> lock(published_mutex_);
    return position_;
  }
  int32_t vocab_size() const { return runner_->tokenizer().vocab_size(); }
  llm::Metadata metadata() const { return runner_->metadata(); }
  Stats stats() const {
    const std::lock_guard<std::mutex> lock(published_mutex_);
    return stats_;
  }

 private:
  static std::unique_ptr<Module> open(const std::string& model_path,
                                      const std::optional<std::string>& data_path,
                                      const std::shared_ptr<LoadProgress>& progress, Error& error) {
    std::unique_ptr<runtime::DataLoader> data;
    if (data_path.has_value()) {
      data = open_file(*data_path, progress, error);
      if (data == nullptr) return nullptr;
    }
    auto program = open_file(model_path, progress, error);
    if (program == nullptr) return nullptr;
    return std::make_unique<Module>(std::move(program), nullptr, nullptr, nullptr, std::move(data));
  }

  /// Holds the runner for a call of this thread.
  class CallLock final {
   public:
    explicit CallLock(PythonRunner& runner) : runner_(runner), lock_(runner.mutex_) {
      runner_.caller_ = std::this_thread::get_id();
    }
    CallLock(const CallLock&) = delete;
    CallLock& operator=(const CallLock&) = delete;
    ~CallLock() {
      runner_.publish();
      runner_.caller_ = std::thread::id();
    }

   private:
    PythonRunner& runner_;
    const std::lock_guard<std::mutex> lock_;
  };

  /// A call from a callback would wait for the call that runs it.
  void refuse_reentry() const {
    expect_ok(caller_ == std::this_thread::get_id() ? Error::InvalidState : Error::Ok,
              "a callback cannot call its runner, except for stop()");
  }

  /// Copies the values that a call changes, so that other threads can read them during the call.
  void publish() {
    const std::lock_guard<std::mutex> lock(published_mutex_);
    position_ = runner_->position();
    stats_ = runner_->stats();
  }

  std::unique_ptr<Runner> runner_;
  std::mutex mutex_;
  std::atomic<std::thread::id> caller_{};
  mutable std::mutex published_mutex_;
  int64_t position_ = 0;
  Stats stats_;
};

template <typename Runner, typename Prompt>
void bind_runner(py::module_& module, const char* name, const char* text) {
  using Bound = PythonRunner<Runner>;
  py::class_<Bound>(module, name, py::module_local(), text)
      .def(py::init<const std::string&, const std::string&, const std::optional<std::string>&,
                    const py::object&, const std::string&>(),
           py::arg("model_path"), py::arg("tokenizer_path"), py::arg("data_path") = py::none(),
           py::arg("progress") = py::none(), py::arg("method_name") = "forward")
      .def("generate", &Bound::template generate<Prompt>, py::arg("prompt"), py::arg("config"),
           py::arg("token_callback") = py::none(), py::arg("stats_callback") = py::none())
      .def("prefill", &Bound::prefill, py::arg("inputs"), py::arg("num_bos") = 0,
           py::arg("num_eos") = 0)
      .def("stop", &Bound::stop)
      .def("reset", &Bound::reset)
      .def_property_readonly("position", &Bound::position)
      .def_property_readonly("metadata", &Bound::metadata)
      .def_property_readonly("stats", &Bound::stats)
      .def("get_vocab_size", &Bound::vocab_size);
}

}  // namespace

void bind_llm_runner(py::module_& module) {
  py::module_ own = module.def_submodule("_llm_runner", "Runners of language models.");
  bind_config(own);
  bind_stats(own);
  bind_multimodal_input(own);
  bind_runner<TextLLMRunner, std::string>(own, "TextLLMRunner",
                                          "Generates text with an exported language model.");
  bind_runner<MultimodalRunner, Inputs>(own, "MultimodalRunner",
                                        "Generates text after text, images and audio.");
  bind_tokenizer(own);
  seal_types(own);
}

}  // namespace executorch::extension::pybindings
#endif
