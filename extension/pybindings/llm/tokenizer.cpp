// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#ifndef USE_ATEN_LIB
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/pybindings/interpreter/gil.h>
#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/extension/pybindings/llm/llm_runner.h>

namespace py = pybind11;

namespace executorch::extension::pybindings {
namespace {

class PythonTokenizer {
 public:
  PythonTokenizer(const std::string& path, std::optional<std::vector<std::string>> special_tokens,
                  std::optional<std::string> pattern, size_t bos_token_index,
                  size_t eos_token_index) {
    const LogCapture capture;
    expect_path(path);
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
    if (bos < 0 || eos < 0) {
      raise_error(runtime::Error::InvalidArgument, "bos and eos: expected 0 to 127, found " +
                                                       std::to_string(bos) + " and " +
                                                       std::to_string(eos));
    }
    auto tokens = tokenizer_->encode(text, bos, eos);
    if (!tokens.ok()) raise_error(runtime::Error::InvalidArgument, "the text cannot be encoded");
    return std::move(*tokens);
  }
  py::str decode(const std::vector<uint64_t>& tokens, bool skip_special_tokens) const {
    const LogCapture capture;
    const auto text = tokenizer_->decode_text(tokens, skip_special_tokens);
    if (!text.ok()) {
      for (const uint64_t token : tokens) {
        if (tokenizer_->id_to_piece(token).ok()) continue;
        raise_error(runtime::Error::InvalidArgument,
                    "the tokenizer has no token " + std::to_string(token));
      }
      raise_error(runtime::Error::InvalidArgument, "the tokens cannot be decoded");
    }
    return py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(text->data(), static_cast<ssize_t>(text->size()), "replace"));
  }
  int32_t vocab_size() const { return tokenizer_->vocab_size(); }
  uint64_t bos() const { return tokenizer_->bos_tok(); }
  uint64_t eos() const { return tokenizer_->eos_tok(); }

 private:
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
};

}  // namespace

void bind_tokenizer(py::module_& module) {
  py::class_<PythonTokenizer>(module, "Tokenizer", py::module_local(),
                              "A tokenizer of the runners.")
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
