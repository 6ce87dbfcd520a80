// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/pybindings/tensor/output_kind.h>
#include <executorch/extension/pybindings/tensor/tensor_object.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_over_memory.h>
#include <executorch/runtime/executor/method_meta.h>

namespace executorch::extension::pybindings {

/// One input of a method: what it must be, and the Python object that it is now. It does not move
/// once it holds a value.
class InputSlot final {
 public:
  /// `unset` is the method's own value for the input before any is set.
  InputSlot(const runtime::MethodMeta& meta, size_t index, const runtime::EValue& unset);

  /// Makes a value of `object`, which is held until release(). Raises InvalidArgumentError (or
  /// InvalidTypeError) that names `place`, what is expected and what was found.
  /// `lends_planned`: the value may be the object's own memory although the plan has memory for it,
  /// which is_lent_planned() says then.
  runtime::EValue read(pybind11::handle object, const ArgumentPlace& place, OutputKind& kind,
                       bool lends_planned);

  /// Whether the plan has memory for the input, and the value is the object's own memory.
  bool is_lent_planned() const { return is_planned_ && is_lent_; }

  /// Lets go of the object.
  void release() {
    object_ = pybind11::object();
    keep_alive_ = pybind11::object();
    view_.data = nullptr;
  }

  /// Whether `address` lies in memory that the object owns and the method uses as it is.
  bool lends(const void* address) const;

  /// For messages: "a float32 tensor [4, 8]", "a float32 tensor of at most [4, 8]", "an int of 3".
  std::string expected() const;
  /// For messages: what the object is, "float32 tensor [3, 8]".
  std::string found() const;

 private:
  runtime::EValue tensor_value(const ArgumentPlace& place, bool lends_planned);
  /// The tensor of what the members say, over `data`.
  runtime::EValue tensor_over(const uint8_t* data, size_t rank, size_t bytes);
  runtime::EValue scalar_value(const ArgumentPlace& place);
  /// Whether the object is a number of Python's that a tensor without dimensions takes as it is.
  bool is_number(pybind11::handle object) const;
  runtime::EValue number_value(const ArgumentPlace& place);

  runtime::Tag tag_;
  const ElementTypeInfo* type_ = nullptr;
  std::string type_name_;
  /// The number that the program was exported with, as text, where it takes no other.
  std::string constant_;
  bool is_planned_ = false;
  bool is_dynamic_ = false;
  bool is_unbounded_ = false;
  size_t rank_ = 0;
  int64_t largest_count_ = 1;
  std::array<int32_t, kMaxRank> largest_sizes_;
  std::array<uint8_t, kMaxRank> dim_order_;

  pybind11::object object_;
  pybind11::object keep_alive_;
  StridedView view_;
  /// Whether the method uses the object's own memory.
  bool is_lent_ = false;
  std::array<executorch::aten::SizesType, kMaxRank> sizes_;
  std::array<executorch::aten::StridesType, kMaxRank> strides_;
  /// For objects whose layout is not the method's.
  std::vector<uint8_t> copy_;
  std::optional<ET_RUNTIME_NAMESPACE::internal::TensorSlot> tensor_;
  std::optional<executorch::aten::ArrayRef<char>> text_;
};

}  // namespace executorch::extension::pybindings
