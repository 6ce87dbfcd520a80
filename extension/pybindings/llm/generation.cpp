// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#ifndef USE_ATEN_LIB
#include <pybind11/stl.h>

#include <initializer_list>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/pybindings/llm/llm_runner.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {

using llm::GenerationConfig;
using llm::Stats;

std::string repr_of(const py::object& self, std::initializer_list<const char*> attributes) {
  std::string text = py::str(py::type::of(self).attr("__name__"));
  const char* separator = "(";
  for (const char* name : attributes) {
    const py::object value = self.attr(name);
    // Six digits: a float32 of 0.7 is 0.699999988079071 as a Python float.
    const py::str shown = py::isinstance<py::float_>(value) ? py::str("{:.6g}").format(value)
                                                            : py::str(py::repr(value));
    text += separator + std::string(name) + "=" + std::string(shown);
    separator = ", ";
  }
  return text + ")";
}

void bind_config(py::module_& module) {
  py::class_<GenerationConfig>(module, "GenerationConfig", py::module_local(),
                               "How text is generated.")
      .def(py::init([](bool echo, int32_t max_new_tokens, bool warming, int32_t seq_len,
                       float temperature, int32_t num_bos, int32_t num_eos, bool ignore_eos,
                       float topp, int32_t topk, float minp, float repetition_penalty,
                       uint64_t seed, std::vector<std::string> stop_strings, bool reuse_prefix) {
             GenerationConfig config;
             config.echo = echo;
             config.max_new_tokens = max_new_tokens;
             config.warming = warming;
             config.seq_len = seq_len;
             config.temperature = temperature;
             config.num_bos = num_bos;
             config.num_eos = num_eos;
             config.ignore_eos = ignore_eos;
             config.topp = topp;
             config.topk = topk;
             config.minp = minp;
             config.repetition_penalty = repetition_penalty;
             config.seed = seed;
             config.stop_strings = std::move(stop_strings);
             config.reuse_prefix = reuse_prefix;
             return config;
           }),
           py::kw_only(), py::arg("echo") = true, py::arg("max_new_tokens") = -1,
           py::arg("warming") = false, py::arg("seq_len") = -1, py::arg("temperature") = 0.8f,
           py::arg("num_bos") = 0, py::arg("num_eos") = 0, py::arg("ignore_eos") = false,
           py::arg("topp") = 1.0f, py::arg("topk") = 0, py::arg("minp") = 0.0f,
           py::arg("repetition_penalty") = 1.0f, py::arg("seed") = 0,
           py::arg("stop_strings") = std::vector<std::string>(), py::arg("reuse_prefix") = false)
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
      .def_readwrite("reuse_prefix", &GenerationConfig::reuse_prefix)
      .def("resolve_max_new_tokens", &GenerationConfig::resolve_max_new_tokens,
           py::arg("max_context_len"), py::arg("num_tokens_occupied"))
      .def("resolve_max_new_tokens", &GenerationConfig::resolve_max_new_tokens,
           py::arg("max_context_len"), py::arg("num_prompt_tokens"))  // the older name
      .def("__repr__", [](const py::object& self) {
        return repr_of(self, {"echo", "max_new_tokens", "warming", "seq_len", "temperature",
                              "num_bos", "num_eos", "ignore_eos", "topp", "topk", "minp",
                              "repetition_penalty", "seed", "stop_strings", "reuse_prefix"});
      });
}

void bind_stats(py::module_& module) {
  py::class_<Stats>(module, "Stats", py::module_local(), "Times and counts of a generation.")
      .def(py::init<>())
      .def_readonly("SCALING_FACTOR_UNITS_PER_SECOND", &Stats::SCALING_FACTOR_UNITS_PER_SECOND)
      .def_readonly("model_load_start_ms", &Stats::model_load_start_ms)
      .def_readonly("model_load_end_ms", &Stats::model_load_end_ms)
      .def_readonly("inference_start_ms", &Stats::inference_start_ms)
      .def_readonly("token_encode_end_ms", &Stats::token_encode_end_ms)
      .def_readonly("model_execution_start_ms", &Stats::model_execution_start_ms)
      .def_readonly("model_execution_end_ms", &Stats::model_execution_end_ms)
      .def_readonly("prompt_eval_end_ms", &Stats::prompt_eval_end_ms)
      .def_readonly("first_token_ms", &Stats::first_token_ms)
      .def_readonly("inference_end_ms", &Stats::inference_end_ms)
      .def_readonly("aggregate_sampling_time_ms", &Stats::aggregate_sampling_time_ms)
      .def_readonly("num_prompt_tokens", &Stats::num_prompt_tokens)
      .def_readonly("num_generated_tokens", &Stats::num_generated_tokens)
      .def_property_readonly("tokens_per_second", &Stats::tokens_per_second)
      .def_property_readonly("prompt_tokens_per_second", &Stats::prompt_tokens_per_second)
      .def("on_sampling_begin", &Stats::on_sampling_begin)
      .def("on_sampling_end", &Stats::on_sampling_end)
      .def("to_json_string", &Stats::to_json_string)
      .def("reset", &Stats::reset, py::arg("all_stats") = false)
      .def("__repr__", &Stats::to_json_string);
}

}  // namespace executorch::extension::pybindings
#endif
