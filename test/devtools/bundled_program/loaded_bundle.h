// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "devtools/bundled_program/bundle_builder.h"

namespace executorch::testing {

/// A bundle's program with its method loaded.
class LoadedBundle {
 public:
  explicit LoadedBundle(const std::vector<uint8_t>& bytes) : bundle(bytes) {
    runtime::runtime_init();
    status = load();
  }

  runtime::Method& method() { return *method_; }

  AlignedBundle bundle;
  runtime::Error status = runtime::Error::Ok;

 private:
  runtime::Error load() {
    const void* program = nullptr;
    size_t size = 0;
    ET_CHECK_OK_OR_RETURN_ERROR(
        bundled_program::get_program_data(bundle.data(), bundle.size, &program, &size));
    loader_.emplace(program, size);
    program_.emplace(ET_UNWRAP(runtime::Program::load(&*loader_)));
    memory_ =
        ET_UNWRAP(extension::MethodMemory::allocate(ET_UNWRAP(program_->method_meta("forward"))));
    method_.emplace(ET_UNWRAP(program_->load_method("forward", memory_->manager())));
    return runtime::Error::Ok;
  }

  std::optional<extension::BufferDataLoader> loader_;
  std::optional<runtime::Program> program_;
  std::unique_ptr<extension::MethodMemory> memory_;
  std::optional<runtime::Method> method_;
};

}  // namespace executorch::testing
