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

/// A backend's options by name, as Python passes them.
using OptionValues = std::map<std::string, std::variant<bool, int, int64_t, std::string>>;

/// Options of several backends, for loading methods.
class BackendChoices final {
 public:
  BackendChoices() = default;
  /// Raises InvalidArgumentError for too many options and for names or values that are too long.
  explicit BackendChoices(const std::map<std::string, OptionValues>& choices);
  BackendChoices(const BackendChoices&) = delete;
  BackendChoices& operator=(const BackendChoices&) = delete;
  BackendChoices(BackendChoices&&) = default;
  BackendChoices& operator=(BackendChoices&&) = default;

  /// Returns a map that is valid during this object's lifetime.
  const runtime::LoadBackendOptionsMap* map() const { return &map_; }

 private:
  std::vector<std::vector<runtime::BackendOption>> options_;
  runtime::LoadBackendOptionsMap map_;
};

/// Sets a backend's options for methods that are loaded later. Raises NotFoundError or
/// InvalidArgumentError.
void set_backend_options(const std::string& backend, const OptionValues& values);

}  // namespace executorch::extension::pybindings
