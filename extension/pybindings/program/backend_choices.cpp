// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/backend_choices.h>

#include <executorch/extension/pybindings/interpreter/log_capture.h>
#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/runtime/backend/interface.h>

namespace executorch::extension::pybindings {

using runtime::BackendOption;
using runtime::Error;

namespace {

template <size_t N>
void copy_text(const std::string& text, const std::string& what, char (&to)[N]) {
  if (text.size() >= N) {
    raise_error(Error::InvalidArgument, what + ": expected at most " + std::to_string(N - 1) +
                                            " bytes, found " + std::to_string(text.size()));
  }
  text.copy(to, N - 1);
}

std::vector<BackendOption> options_of(const std::string& backend, const OptionValues& values) {
  std::vector<BackendOption> options(values.size());
  size_t next = 0;
  for (const auto& [key, value] : values) {
    BackendOption& option = options[next++];
    copy_text(key, "the name of an option of " + backend, option.key);
    if (const bool* flag = std::get_if<bool>(&value)) {
      option.value = *flag;
    } else if (const int* number = std::get_if<int>(&value)) {
      option.value = *number;
    } else {
      // Options hold an int at most; backends accept a larger number as text.
      const int64_t* large = std::get_if<int64_t>(&value);
      char text[runtime::kMaxOptionValueLength] = {};
      copy_text(large != nullptr ? std::to_string(*large) : std::get<std::string>(value),
                "option " + key + " of " + backend, text);
      std::array<char, runtime::kMaxOptionValueLength> characters{};
      std::copy(std::begin(text), std::end(text), characters.begin());
      option.value = characters;
    }
  }
  return options;
}

}  // namespace

BackendChoices::BackendChoices(const std::map<std::string, OptionValues>& choices) {
  const LogCapture capture;
  for (const auto& [backend, values] : choices) {
    options_.push_back(options_of(backend, values));
    const Error error =
        map_.set_options(backend.c_str(), {options_.back().data(), options_.back().size()});
    if (error != Error::Ok) {
      raise_error(error, "options of backend '" + backend + "'");
    }
  }
}

void set_backend_options(const std::string& backend, const OptionValues& values) {
  const LogCapture capture;
  std::vector<BackendOption> options = options_of(backend, values);
  const Error error = runtime::set_option(backend.c_str(), {options.data(), options.size()});
  if (error != Error::Ok) {
    raise_error(error, "options of backend '" + backend + "'");
  }
}

}  // namespace executorch::extension::pybindings
