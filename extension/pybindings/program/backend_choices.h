// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include <executorch/runtime/backend/backend_options_map.h>

namespace executorch::extension::pybindings {

/// A backend's options by their names, as Python has them.
using OptionValues = std::map<std::string, std::variant<bool, int, int64_t, std::string>>;

/// Options of several backends, kept for programs to be loaded with.
class BackendChoices final {
 public:
  BackendChoices() = default;
  /// Raises InvalidArgumentError for what is too long or too many.
  explicit BackendChoices(const std::map<std::string, OptionValues>& choices);
  BackendChoices(const BackendChoices&) = delete;
  BackendChoices& operator=(const BackendChoices&) = delete;
  BackendChoices(BackendChoices&&) = default;
  BackendChoices& operator=(BackendChoices&&) = default;

  /// Valid as long as this object.
  const runtime::LoadBackendOptionsMap* map() const { return &map_; }

 private:
  std::vector<std::vector<runtime::BackendOption>> options_;
  runtime::LoadBackendOptionsMap map_;
};

/// Sets options of a backend for all that is loaded from now on. Raises NotFoundError,
/// InvalidArgumentError.
void set_backend_options(const std::string& backend, const OptionValues& values);

}  // namespace executorch::extension::pybindings
