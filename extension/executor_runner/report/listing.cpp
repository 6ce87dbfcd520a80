// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/report/listing.h>

#include <inttypes.h>
#include <stdio.h>

#include <executorch/extension/executor_runner/report/failure.h>
#include <executorch/extension/module/method_memory.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::extension::executor_runner {
namespace {

using runtime::MethodMeta;
using runtime::Result;
using runtime::Tag;
using runtime::TensorInfo;

/// The inputs or the outputs of a method.
struct Values {
  const char* title;
  size_t (MethodMeta::*count)() const;
  Result<Tag> (MethodMeta::*tag)(size_t index) const;
  Result<TensorInfo> (MethodMeta::*tensor)(size_t index) const;
};

constexpr Values kInputs = {"inputs", &MethodMeta::num_inputs, &MethodMeta::input_tag,
                            &MethodMeta::input_tensor_meta};
constexpr Values kOutputs = {"outputs", &MethodMeta::num_outputs, &MethodMeta::output_tag,
                             &MethodMeta::output_tensor_meta};

void print_values(const MethodMeta& meta, const Values& values) {
  printf("  %s: %zu\n", values.title, (meta.*values.count)());
  for (size_t i = 0; i < (meta.*values.count)(); ++i) {
    const Tag tag = require((meta.*values.tag)(i), "the file does not describe a value");
    if (tag != Tag::Tensor) {
      char name[runtime::kTagNameBufferSize];
      runtime::tag_to_string(tag, name, sizeof(name));
      printf("    %zu: %s\n", i, name);
      continue;
    }
    const TensorInfo info = require((meta.*values.tensor)(i), "the file does not describe a value");
    printf("    %zu: %s, %zu bytes%s\n", i, tensor_text(info.scalar_type(), info.sizes()).c_str(),
           info.nbytes(), info.is_memory_planned() ? ", planned" : "");
  }
}

void print_operators(const MethodMeta& meta) {
  printf("  operators: %zu\n", meta.num_operators());
  for (size_t i = 0; i < meta.num_operators(); ++i) {
    const runtime::OperatorName operator_name =
        require(meta.operator_name(i), "the file does not name an operator");
    const std::string overload = operator_name.overload;
    const std::string name =
        overload.empty() ? operator_name.name : operator_name.name + ("." + overload);
    printf("    %s%s\n", name.c_str(),
           runtime::registry_has_op_function(name.c_str()) ? "" : " (no kernel)");
  }
}

void print_backends(const MethodMeta& meta) {
  printf("  backends: %zu\n", meta.num_backends());
  for (size_t i = 0; i < meta.num_backends(); ++i) {
    const char* name = require(meta.get_backend_name(i), "the file does not name a backend");
    const runtime::BackendInterface* backend = runtime::get_backend_class(name);
    const bool is_usable = backend != nullptr && backend->is_available();
    printf("    %s%s\n", name, is_usable ? "" : " (not available)");
  }
}

void print_delegate_operators(const runtime::Method& method) {
  size_t last = SIZE_MAX;
  const runtime::Error error =
      method.describe_delegates([&](size_t delegate, const runtime::DelegateOperator& op) {
        if (delegate != last) {
          printf("    operators of delegate %zu:\n", delegate);
          last = delegate;
        }
        printf("      %s in %s: %s\n", op.name, op.precision, op.values);
      });
  require(error, "a backend does not describe its operators");
}

/// Delegates report operators, and memory beyond the plan, only once loaded.
void print_delegates(const runtime::Program& program, const MethodMeta& meta) {
  if (meta.num_backends() == 0) {
    return;
  }
  const Result<std::unique_ptr<MethodMemory>> memory = MethodMemory::allocate(meta);
  if (memory.ok()) {
    const Result<runtime::Method> method = program.load_method(meta.name(), (*memory)->manager());
    if (method.ok()) {
      printf("    scratch of delegates: %zu bytes\n", method->delegate_scratch_size());
      print_delegate_operators(*method);
      return;
    }
  }
  printf("    scratch of delegates: unknown, the method cannot be loaded here\n");
}

void print_memory(const MethodMeta& meta) {
  uint64_t total = meta.method_allocator_size();
  printf("  memory:\n    method: %zu bytes\n", meta.method_allocator_size());
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const int64_t size =
        require(meta.memory_planned_buffer_size(i), "the file does not size a planned buffer");
    printf("    planned buffer %zu: %" PRId64 " bytes\n", i, size);
    total += static_cast<uint64_t>(size);
  }
  printf("    together: %" PRIu64 " bytes\n", total);
}

}  // namespace

std::string tensor_text(executorch::aten::ScalarType type, runtime::Span<const int32_t> sizes) {
  std::string text = std::string(runtime::toString(type)) + " [";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  return text + "]";
}

void print_listing(const runtime::Program& program) {
  printf("program: %zu methods, %zu bytes of constants, which they share\n", program.num_methods(),
         program.constants_size());
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const char* name = require(program.get_method_name(i), "the file does not name a method");
    const MethodMeta meta =
        require(program.method_meta(name), "the file does not describe a method");
    printf("method %s: %zu instructions\n", name, meta.num_instructions());
    print_values(meta, kInputs);
    print_values(meta, kOutputs);
    print_operators(meta);
    print_backends(meta);
    print_memory(meta);
    print_delegates(program, meta);
  }
}

}  // namespace executorch::extension::executor_runner
