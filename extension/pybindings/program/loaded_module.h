// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <executorch/extension/pybindings/program/loaded_method.h>
#include <executorch/extension/pybindings/program/loaded_program.h>

namespace executorch::extension::pybindings {

/// A program and those of its methods that were called so far. All functions need the GIL.
class LoadedModule final {
 public:
  explicit LoadedModule(std::shared_ptr<LoadedProgram> program) : program_(std::move(program)) {}

  const std::shared_ptr<LoadedProgram>& program() const { return program_; }

  /// Loads the method at its first use.
  std::shared_ptr<LoadedMethod> method(const std::string& name) {
    std::shared_ptr<LoadedMethod>& known = methods_[name];
    if (known != nullptr) {
      return known;
    }
    methods_.erase(name);
    // Loading lets other threads run, which may load the same method: the first one stays.
    return methods_.emplace(name, LoadedMethod::load(program_, name)).first->second;
  }

 private:
  std::shared_ptr<LoadedProgram> program_;
  std::map<std::string, std::shared_ptr<LoadedMethod>> methods_;
};

}  // namespace executorch::extension::pybindings
