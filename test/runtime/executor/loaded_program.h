// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A program and its methods with all the memory that they need, for tests.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <executorch/runtime/executor/program.h>

#include "program_builder.h"

namespace executorch::testing {

/// A file in memory.
class FileLoader final : public runtime::DataLoader {
 public:
  explicit FileLoader(const ProgramFile& file) : file_(file) {}

  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                const SegmentInfo&) const override {
    ++loads;
    if (offset > file_.size() || size > file_.size() - offset) {
      return runtime::Error::InvalidArgument;
    }
    return runtime::FreeableBuffer(
        file_.data() + offset, size,
        [](void* count, void*, size_t) { ++*static_cast<int*>(count); }, &frees);
  }
  runtime::Result<size_t> size() const override { return file_.size(); }

  mutable int loads = 0;
  mutable int frees = 0;

 private:
  const ProgramFile& file_;
};

/// The error with which Program::load() refuses a program, or Ok.
inline runtime::Error load_error(const ProgramFile& file) {
  FileLoader loader(file);
  return runtime::Program::load(&loader).error();
}
inline runtime::Error load_error(const TestProgram& program) {
  return load_error(ProgramFile(program));
}

/// A program that is expected to load.
class LoadedProgram final {
 public:
  explicit LoadedProgram(const TestProgram& program) : LoadedProgram(ProgramFile(program)) {}
  explicit LoadedProgram(ProgramFile file)
      : file_(std::move(file)), loader_(file_), program_(runtime::Program::load(&loader_)) {}

  runtime::Program& operator*() { return *program_; }
  runtime::Program* operator->() { return &*program_; }
  const FileLoader& loader() const { return loader_; }
  bool ok() const { return program_.ok(); }

 private:
  ProgramFile file_;
  FileLoader loader_;
  runtime::Result<runtime::Program> program_;
};

/// Memory for one method: the sizes in its metadata, and additional memory by arguments.
class MethodMemory final {
 public:
  explicit MethodMemory(const runtime::MethodMeta& meta, size_t for_backends = 0,
                        size_t temp_size = 256)
      : MethodMemory(meta, meta.method_allocator_size() + for_backends, temp_size, 0) {}
  /// With exactly `method_size` bytes for the method.
  static MethodMemory of_size(const runtime::MethodMeta& meta, size_t method_size) {
    return MethodMemory(meta, method_size, 256, 0);
  }

  runtime::MemoryManager& manager() { return *manager_; }
  runtime::MemoryAllocator& method_allocator() { return *method_; }
  uint8_t* planned(size_t buffer) { return reinterpret_cast<uint8_t*>(buffers_[buffer].data()); }

 private:
  MethodMemory(const runtime::MethodMeta& meta, size_t method_size, size_t temp_size, int)
      : method_block_(method_size / 8 + 1), temp_block_(temp_size / 8 + 1) {
    for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      const auto size = static_cast<size_t>(*meta.memory_planned_buffer_size(i));
      buffers_.emplace_back(size / 8 + 1);
      spans_.emplace_back(reinterpret_cast<uint8_t*>(buffers_.back().data()), size);
    }
    method_ = std::make_unique<runtime::MemoryAllocator>(
        static_cast<uint32_t>(method_size), reinterpret_cast<uint8_t*>(method_block_.data()));
    temp_ = std::make_unique<runtime::MemoryAllocator>(
        static_cast<uint32_t>(temp_size), reinterpret_cast<uint8_t*>(temp_block_.data()));
    planned_ = std::make_unique<runtime::HierarchicalAllocator>(
        runtime::Span<runtime::Span<uint8_t>>(spans_.data(), spans_.size()));
    manager_ = std::make_unique<runtime::MemoryManager>(method_.get(), planned_.get(), temp_.get());
  }

  std::vector<uint64_t> method_block_;
  std::vector<uint64_t> temp_block_;
  std::vector<std::vector<uint64_t>> buffers_;
  std::vector<runtime::Span<uint8_t>> spans_;
  std::unique_ptr<runtime::MemoryAllocator> method_;
  std::unique_ptr<runtime::MemoryAllocator> temp_;
  std::unique_ptr<runtime::HierarchicalAllocator> planned_;
  std::unique_ptr<runtime::MemoryManager> manager_;
};

/// "forward" of a program that is expected to load.
class LoadedMethod final {
 public:
  explicit LoadedMethod(const TestProgram& source, size_t for_backends = 0)
      : program_(source),
        memory_(*program_->method_meta("forward"), for_backends),
        method_(program_->load_method("forward", &memory_.manager())) {}

  runtime::Method& operator*() { return *method_; }
  runtime::Method* operator->() { return &*method_; }
  runtime::Error error() const { return method_.error(); }
  MethodMemory& memory() { return memory_; }

 private:
  LoadedProgram program_;
  MethodMemory memory_;
  runtime::Result<runtime::Method> method_;
};

/// A dense float tensor in default order.
class FloatTensor final {
 public:
  FloatTensor(std::vector<int32_t> sizes, std::vector<float> data)
      : sizes_(std::move(sizes)),
        order_(sizes_.size()),
        strides_(sizes_.size()),
        data_(std::move(data)) {
    int32_t stride = 1;
    for (size_t i = sizes_.size(); i-- > 0;) {
      order_[i] = static_cast<uint8_t>(i);
      strides_[i] = stride;
      stride *= sizes_[i];
    }
    impl_.emplace(aten::ScalarType::Float, static_cast<ssize_t>(sizes_.size()), sizes_.data(),
                  data_.data(), order_.data(), strides_.data());
  }
  explicit FloatTensor(std::vector<float> data)
      : FloatTensor({static_cast<int32_t>(data.size())}, data) {}
  FloatTensor(const FloatTensor&) = delete;

  runtime::EValue value() { return runtime::EValue(aten::Tensor(&*impl_)); }
  /// The same tensor without strides, which follow from its dim order.
  runtime::EValue value_without_strides() {
    impl_.emplace(aten::ScalarType::Float, static_cast<ssize_t>(sizes_.size()), sizes_.data(),
                  data_.data(), order_.data());
    return value();
  }
  std::vector<int32_t>& strides() { return strides_; }
  float* data() { return data_.data(); }

 private:
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> order_;
  std::vector<int32_t> strides_;
  std::vector<float> data_;
  std::optional<aten::TensorImpl> impl_;
};

inline runtime::Error set_inputs(runtime::Method& method,
                                 const std::vector<runtime::EValue>& inputs) {
  return method.set_inputs(aten::ArrayRef<runtime::EValue>(inputs.data(), inputs.size()));
}

/// The elements of a float tensor.
inline std::vector<float> floats(const runtime::EValue& value) {
  const aten::Tensor& tensor = value.toTensor();
  const float* data = tensor.const_data_ptr<float>();
  return std::vector<float>(data, data + tensor.numel());
}

/// The error of loading the program, or else its method.
inline runtime::Error refusal(const TestProgram& source) {
  const ProgramFile file(source);
  const FileLoader loader(file);
  const runtime::Result<runtime::Program> program =
      runtime::Program::load(const_cast<FileLoader*>(&loader));
  if (!program.ok()) {
    return program.error();
  }
  MethodMemory memory(*program->method_meta("forward"), 64);
  return program->load_method("forward", &memory.manager()).error();
}

}  // namespace executorch::testing
