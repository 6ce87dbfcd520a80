// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <optional>

#include <executorch/devtools/bundled_program/bundle.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/executor_runner/options.h>

namespace executorch::extension::executor_runner {

/// The file of --model_path: a program, or a bundle that has test cases around one.
class ProgramFile final {
 public:
  /// Prints a line on stderr and exits if the file does not match the options.
  explicit ProgramFile(const Options& options);

  /// Loader of the program; valid as long as this object.
  runtime::DataLoader* loader() const {
    return bundled_loader_.has_value() ? static_cast<runtime::DataLoader*>(&*bundled_loader_)
                                       : file_.get();
  }
  /// Null if the file is a program alone.
  const bundled_program::Bundle* bundle() const {
    return bundle_.has_value() ? &*bundle_ : nullptr;
  }

 private:
  std::unique_ptr<runtime::DataLoader> file_;
  runtime::FreeableBuffer bytes_;
  std::optional<bundled_program::Bundle> bundle_;
  // Mutable, because loading is const but the interfaces take a non-const pointer.
  mutable std::optional<BufferDataLoader> bundled_loader_;
};

}  // namespace executorch::extension::executor_runner
