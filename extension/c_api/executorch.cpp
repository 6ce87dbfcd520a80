// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/c_api/executorch.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/runtime.h>
#include <string.h>

#include <new>
#include <optional>

using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::StridesType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::Kernel;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::TensorInfo;

namespace {

constexpr size_t kMaxDims = executorch::runtime::kTensorDimensionLimit;

/// Contents of an et_program.
struct LoadedProgram {
  BufferDataLoader loader;
  /// The kernels that methods use; if empty, the registered ones.
  Span<const Kernel> kernels;
  /// Empty after a load that failed, and once unloaded.
  std::optional<Program> program;
};
static_assert(sizeof(LoadedProgram) <= sizeof(et_program), "et_program is too small");
static_assert(alignof(LoadedProgram) <= alignof(et_program), "et_program is not aligned enough");

/// Contents of an et_method. Members are constructed in this order.
struct MethodPlace {
  explicit MethodPlace(const et_method_memory& memory)
      : method_allocator(static_cast<uint32_t>(memory.method.size), bytes(memory.method)),
        temp_allocator(static_cast<uint32_t>(memory.temp.size), bytes(memory.temp)),
        planned(Span<Span<uint8_t>>(buffers, memory.num_planned)),
        manager(&method_allocator, &planned, &temp_allocator) {
    for (size_t i = 0; i < memory.num_planned; ++i) {
      buffers[i] = {bytes(memory.planned[i]), memory.planned[i].size};
    }
  }

  static uint8_t* bytes(const et_memory& memory) { return static_cast<uint8_t*>(memory.data); }

  Span<uint8_t> buffers[ET_MAX_PLANNED_BUFFERS];
  MemoryAllocator method_allocator;
  MemoryAllocator temp_allocator;
  HierarchicalAllocator planned;
  MemoryManager manager;
};
struct LoadedMethod {
  std::optional<MethodPlace> place;
  /// Empty after a load that failed, and once unloaded.
  std::optional<Method> method;
};
static_assert(sizeof(LoadedMethod) <= sizeof(et_method), "et_method is too small");
static_assert(alignof(LoadedMethod) <= alignof(et_method), "et_method is not aligned enough");

template <class Loaded, class Opaque>
Loaded& in(Opaque* object) {
  return *std::launder(reinterpret_cast<Loaded*>(object));
}

Error check_given(const void* pointer, const char* what) {
  ET_CHECK_OR_RETURN_ERROR(pointer != nullptr, InvalidArgument, "%s is a null pointer", what);
  return Error::Ok;
}

/// Returns the program; an error if there is none.
Result<const LoadedProgram*> loaded(const et_program* program) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_given(program, "the program"));
  const auto& place = in<const LoadedProgram>(program);
  ET_CHECK_OR_RETURN_ERROR(place.program.has_value(), InvalidState, "the program is not loaded");
  return &place;
}

Result<Method*> loaded(et_method* method) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_given(method, "the method"));
  auto& place = in<LoadedMethod>(method);
  ET_CHECK_OR_RETURN_ERROR(place.method.has_value(), InvalidState, "the method is not loaded");
  return &*place.method;
}

Result<const Method*> loaded(const et_method* method) {
  return ET_UNWRAP(loaded(const_cast<et_method*>(method)));
}

Result<MethodMeta> meta_of(const et_program* program, const char* method) {
  return ET_UNWRAP(loaded(program))->program->method_meta(method);
}

/// True if the caller's pointer is not null, or no bytes are claimed.
bool is_complete(const et_memory& memory) { return memory.data != nullptr || memory.size == 0; }

Error check_memory(const et_method_memory& memory) {
  ET_CHECK_OR_RETURN_ERROR(memory.num_planned <= ET_MAX_PLANNED_BUFFERS, NotSupported,
                           "%zu planned buffers, at most %d are supported", memory.num_planned,
                           ET_MAX_PLANNED_BUFFERS);
  ET_CHECK_OR_RETURN_ERROR(
      memory.method.size <= UINT32_MAX && memory.temp.size <= UINT32_MAX, InvalidArgument,
      "method memory of %zu bytes, temporary memory of %zu bytes: expected less than 4 GB for each",
      memory.method.size, memory.temp.size);
  bool complete = is_complete(memory.method) && is_complete(memory.temp) &&
                  (memory.planned != nullptr || memory.num_planned == 0);
  for (size_t i = 0; complete && i < memory.num_planned; ++i) {
    complete = is_complete(memory.planned[i]);
  }
  ET_CHECK_OR_RETURN_ERROR(complete, InvalidArgument, "memory of a method at a null pointer");
  return Error::Ok;
}

et_error code(Error error) { return static_cast<et_error>(error); }

/// Runs a step that returns an Error (so that it may use ET_UNWRAP); returns the error's number.
template <class Step>
et_error run(const Step& step) {
  return code(step());
}

Error load(et_program* program, const void* data, size_t size, Span<const Kernel> kernels) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_given(program, "the program"));
  auto* const place =
      new (program) LoadedProgram{BufferDataLoader(data, size), kernels, std::nullopt};
  ET_CHECK_OK_OR_RETURN_ERROR(check_given(data, "the program's data"));
  place->program.emplace(ET_UNWRAP(Program::load(&place->loader)));
  return Error::Ok;
}

Error describe(const Result<TensorInfo>& described, et_tensor* info) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_given(info, "the description"));
  if (!described.ok()) {
    return described.error();
  }
  const TensorInfo& tensor = *described;
  *info = {nullptr,
           tensor.nbytes(),
           tensor.sizes().data(),
           tensor.dim_order().data(),
           tensor.sizes().size(),
           static_cast<int>(tensor.scalar_type())};
  return Error::Ok;
}

Error set_tensor(Method& method, size_t index, const et_tensor& given) {
  ET_CHECK_OR_RETURN_ERROR(
      given.rank <= kMaxDims && (given.rank == 0 || given.sizes != nullptr), InvalidArgument,
      "input %zu: a tensor of rank %zu, at most %zu is supported", index, given.rank, kMaxDims);
  ET_CHECK_OR_RETURN_ERROR(given.data != nullptr || given.nbytes == 0, InvalidArgument,
                           "input %zu: no data", index);
  SizesType sizes[kMaxDims];
  DimOrderType order[kMaxDims];
  StridesType strides[kMaxDims];
  uint32_t seen = 0;
  for (size_t i = 0; i < given.rank; ++i) {
    sizes[i] = given.sizes[i];
    order[i] = given.dim_order == nullptr ? static_cast<DimOrderType>(i) : given.dim_order[i];
    ET_CHECK_OR_RETURN_ERROR(
        order[i] < given.rank && (seen >> order[i] & 1) == 0 && sizes[i] >= 0, InvalidArgument,
        "input %zu: dimension %zu of %zu is of size %d; place %u of the dim order repeats or does "
        "not exist",
        index, i, given.rank, static_cast<int>(sizes[i]), order[i]);
    seen |= uint32_t{1} << order[i];
  }
  int64_t stride = 1;
  for (size_t i = given.rank; i-- > 0;) {
    strides[order[i]] = static_cast<StridesType>(stride);
    ET_CHECK_OR_RETURN_ERROR(
        !executorch::runtime::mul_overflows<int64_t>(stride, sizes[order[i]], &stride) &&
            stride <= INT32_MAX,
        InvalidArgument, "input %zu: too many elements to count", index);
  }
  ET_CHECK_OR_RETURN_ERROR(
      given.dtype >= 0 && given.dtype < static_cast<int>(ScalarType::NumOptions), InvalidArgument,
      "input %zu: unknown dtype %d", index, given.dtype);
  const auto dtype = static_cast<ScalarType>(given.dtype);
  const auto rank = static_cast<ssize_t>(given.rank);
  ET_CHECK_OK_OR_RETURN_ERROR(executorch::aten::safe_nbytes(dtype, sizes, rank).error());
  TensorImpl impl(dtype, rank, sizes, given.data, order, strides);
  ET_CHECK_OR_RETURN_ERROR(impl.nbytes() == given.nbytes, InvalidArgument,
                           "input %zu: sizes and dtype give %zu bytes, nbytes is %zu", index,
                           impl.nbytes(), given.nbytes);
  return method.set_input(EValue(Tensor(&impl)), index);
}

et_tensor view(const Tensor& tensor) {
  return {tensor.mutable_data_ptr(),
          tensor.nbytes(),
          tensor.sizes().data(),
          tensor.dim_order().data(),
          static_cast<size_t>(tensor.dim()),
          static_cast<int>(tensor.scalar_type())};
}

et_value value_of(const EValue& value) {
  et_value result;
  memset(&result, 0, sizeof(result));
  result.kind = value.isNone() ? ET_NONE : ET_OTHER;
  if (value.isTensor()) {
    result.kind = ET_TENSOR;
    result.of.tensor = view(value.toTensor());
  } else if (value.isInt()) {
    result.kind = ET_INT;
    result.of.as_int = value.toInt();
  } else if (value.isDouble()) {
    result.kind = ET_DOUBLE;
    result.of.as_double = value.toDouble();
  } else if (value.isBool()) {
    result.kind = ET_BOOLEAN;
    result.of.as_bool = value.toBool() ? 1 : 0;
  }
  return result;
}

}  // namespace

extern "C" {

const char* et_error_name(et_error error) {
  return executorch::runtime::to_string(static_cast<Error>(error));
}

void et_init(void) { executorch::runtime::runtime_init(); }

uint64_t et_clock_ns(void) {
  return executorch::runtime::ticks_to_ns(executorch::runtime::pal_current_ticks());
}

et_error et_program_load(et_program* program, const void* data, size_t size) {
  return code(load(program, data, size, {}));
}

et_error et_program_load_embedded(et_program* program, const et_embedded_program* embedded) {
  return run([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(program, "the program"));
    // If an argument is refused, the program is one that is not loaded.
    new (program) LoadedProgram{BufferDataLoader(nullptr, 0), {}, std::nullopt};
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(embedded, "the embedded program"));
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(embedded->kernels, "the embedded program's kernels"));
    const auto& kernels = *static_cast<const Span<const Kernel>*>(embedded->kernels);
    return load(program, embedded->data, embedded->size, kernels);
  });
}

void et_program_unload(et_program* program) {
  if (program != nullptr) {
    in<LoadedProgram>(program).program.reset();
  }
}

size_t et_program_num_methods(const et_program* program) {
  const auto result = loaded(program);
  return result.ok() ? (*result)->program->num_methods() : 0;
}

const char* et_program_method_name(const et_program* program, size_t index) {
  const auto result = loaded(program);
  if (!result.ok()) {
    return nullptr;
  }
  const Result<const char*> name = (*result)->program->get_method_name(index);
  return name.ok() ? *name : nullptr;
}

et_error et_program_method_memory(const et_program* program, const char* method, size_t* bytes) {
  return run([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(bytes, "the number of bytes"));
    *bytes = ET_UNWRAP(meta_of(program, method)).method_allocator_size();
    return Error::Ok;
  });
}

et_error et_program_num_planned(const et_program* program, const char* method, size_t* count) {
  return run([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(count, "the number of buffers"));
    *count = ET_UNWRAP(meta_of(program, method)).num_memory_planned_buffers();
    return Error::Ok;
  });
}

et_error et_program_planned_size(const et_program* program, const char* method, size_t index,
                                 size_t* bytes) {
  return run([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(bytes, "the number of bytes"));
    const MethodMeta meta = ET_UNWRAP(meta_of(program, method));
    *bytes = static_cast<size_t>(ET_UNWRAP(meta.memory_planned_buffer_size(index)));
    return Error::Ok;
  });
}

et_error et_program_input(const et_program* program, const char* method, size_t index,
                          et_tensor* info) {
  return run(
      [&] { return describe(ET_UNWRAP(meta_of(program, method)).input_tensor_meta(index), info); });
}

et_error et_program_output(const et_program* program, const char* method, size_t index,
                           et_tensor* info) {
  return run([&] {
    return describe(ET_UNWRAP(meta_of(program, method)).output_tensor_meta(index), info);
  });
}

et_error et_method_load(et_method* method, const et_program* program, const char* name,
                        const et_method_memory* memory) {
  return run([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(method, "the method"));
    auto* const place = new (method) LoadedMethod();
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(memory, "the method's memory"));
    ET_CHECK_OK_OR_RETURN_ERROR(check_memory(*memory));
    const LoadedProgram& source = *ET_UNWRAP(loaded(program));
    MethodPlace& resources = place->place.emplace(*memory);
    place->method.emplace(ET_UNWRAP(source.program->load_method(name, &resources.manager, nullptr,
                                                                nullptr, nullptr, source.kernels)));
    return Error::Ok;
  });
}

void et_method_unload(et_method* method) {
  if (method != nullptr) {
    in<LoadedMethod>(method).method.reset();
  }
}

size_t et_method_num_inputs(const et_method* method) {
  const auto result = loaded(method);
  return result.ok() ? (*result)->inputs_size() : 0;
}

size_t et_method_num_outputs(const et_method* method) {
  const auto result = loaded(method);
  return result.ok() ? (*result)->outputs_size() : 0;
}

et_error et_method_set_input(et_method* method, size_t index, const et_tensor* tensor) {
  return run([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(tensor, "the tensor"));
    return set_tensor(*ET_UNWRAP(loaded(method)), index, *tensor);
  });
}

et_error et_method_set_input_data(et_method* method, size_t index, const void* data,
                                  size_t nbytes) {
  return run([&] {
    et_tensor tensor;
    Method& target = *ET_UNWRAP(loaded(method));
    ET_CHECK_OK_OR_RETURN_ERROR(describe(target.method_meta().input_tensor_meta(index), &tensor));
    ET_CHECK_OR_RETURN_ERROR(!target.writes_to_given_input(index), NotSupported,
                             "input %zu: the method writes to it, so its memory must not be const",
                             index);
    tensor.data = const_cast<void*>(data);
    tensor.nbytes = nbytes;
    return set_tensor(target, index, tensor);
  });
}

et_error et_method_set_output_data(et_method* method, size_t index, void* data, size_t nbytes) {
  return run([&] { return ET_UNWRAP(loaded(method))->set_output_data_ptr(data, nbytes, index); });
}

et_error et_method_execute(et_method* method) {
  return run([&] { return ET_UNWRAP(loaded(method))->execute(); });
}

et_error et_method_output(const et_method* method, size_t index, et_value* value) {
  return run([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(check_given(value, "the output's value"));
    const Method& source = *ET_UNWRAP(loaded(method));
    ET_CHECK_OR_RETURN_ERROR(index < source.outputs_size(), InvalidArgument, "output %zu of %zu",
                             index, source.outputs_size());
    const EValue& output = source.get_output(index);
    ET_CHECK_OR_RETURN_ERROR(!output.isTensor() || output.toTensor().numel() == 0 ||
                                 output.toTensor().const_data_ptr() != nullptr,
                             InvalidState, "output %zu has no memory", index);
    *value = value_of(output);
    return Error::Ok;
  });
}

}  // extern "C"
