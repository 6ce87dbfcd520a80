// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The smallest runner of a program: the core runtime without kernels, with static memory. It reads
// a program from standard input, loads its method "forward" and executes it with inputs of zeros.
// test/house/test_binary_size.py limits its size.
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::Tag;

alignas(16) uint8_t program_memory[64 * 1024];
alignas(16) uint8_t method_memory[32 * 1024];
alignas(16) uint8_t planned_memory[64 * 1024];
alignas(16) uint8_t temp_memory[4 * 1024];
alignas(16) uint8_t input_memory[16 * 1024];

/// A program that lies in memory.
class StaticLoader final : public DataLoader {
 public:
  explicit StaticLoader(size_t size) : size_(size) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (offset > size_ || size > size_ - offset) {
      return Error::InvalidArgument;
    }
    return FreeableBuffer(program_memory + offset, size, nullptr);
  }
  Result<size_t> size() const override { return size_; }

 private:
  size_t size_;
};

Error set_zeros(Method& method) {
  const MethodMeta meta = method.method_meta();
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    if (ET_UNWRAP(meta.input_tag(i)) != Tag::Tensor) {
      continue;
    }
    const auto info = ET_UNWRAP(meta.input_tensor_meta(i));
    executorch::aten::StridesType strides[16];
    executorch::aten::StridesType stride = 1;
    for (size_t d = info.dim_order().size(); d-- > 0;) {
      strides[info.dim_order()[d]] = stride;
      stride *= info.sizes()[info.dim_order()[d]];
    }
    if (info.nbytes() > sizeof(input_memory)) {
      return Error::MemoryAllocationFailed;
    }
    executorch::aten::TensorImpl impl(
        info.scalar_type(), static_cast<ssize_t>(info.sizes().size()),
        const_cast<executorch::aten::SizesType*>(info.sizes().data()), input_memory,
        const_cast<executorch::aten::DimOrderType*>(info.dim_order().data()), strides);
    ET_CHECK_OK_OR_RETURN_ERROR(method.set_input(executorch::aten::Tensor(&impl), i));
  }
  return Error::Ok;
}

Error run(size_t program_size) {
  StaticLoader loader(program_size);
  const Program program = ET_UNWRAP(Program::load(&loader));
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  MemoryAllocator temp_allocator(sizeof(temp_memory), temp_memory);
  Span<uint8_t> buffers[] = {Span<uint8_t>(planned_memory)};
  HierarchicalAllocator planned({buffers, 1});
  MemoryManager memory(&method_allocator, &planned, &temp_allocator);
  Method method = ET_UNWRAP(program.load_method("forward", &memory));
  ET_CHECK_OK_OR_RETURN_ERROR(set_zeros(method));
  return method.execute();
}

}  // namespace

int main() {
  executorch::runtime::runtime_init();
  size_t size = 0;
  for (ssize_t got = 1; got > 0; size += got > 0 ? static_cast<size_t>(got) : 0) {
    got = read(STDIN_FILENO, program_memory + size, sizeof(program_memory) - size);
  }
  return static_cast<int>(run(size));
}
