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

/// An input of a method: its required type, and the Python object that is its current value. Must
/// not be moved while it has a value.
class InputSlot final {
 public:
  /// `unset` is the method's value of the input before it is set.
  InputSlot(const runtime::MethodMeta& meta, size_t index, const runtime::EValue& unset);

  /// Converts `object`, which the slot holds until release(). Raises an InvalidArgumentError or
  /// InvalidTypeError that names `place`, the expected and the found type. With `lends_planned`,
  /// the value may use the object's memory instead of planned memory; see is_lent_planned().
  runtime::EValue read(pybind11::handle object, const ArgumentPlace& place, OutputKind& kind,
                       bool lends_planned);

  /// True if reading the object may have run Python code, which may have changed other inputs.
  bool may_have_run_code() const { return may_have_run_code_; }
  /// Raises InvalidArgumentError if the method uses the object's memory, and the object has other
  /// memory by now (torch's resize_()). Runs no Python code.
  void expect_same_memory(const ArgumentPlace& place) const;

  /// True if the value uses the object's memory although the input has planned memory.
  bool is_lent_planned() const { return is_planned_ && is_lent_; }

  /// Drops the references to the object.
  void release() {
    object_ = pybind11::object();
    keep_alive_ = pybind11::object();
    view_.data = nullptr;
    is_lent_ = false;
  }

  /// For messages: "a float32 tensor [4, 8]", "a float32 tensor of at most [4, 8]", "an int of 3".
  std::string expected() const;
  /// For messages, a description of the object: "float32 tensor [3, 8]".
  std::string found() const;

 private:
  runtime::EValue tensor_value(const ArgumentPlace& place, bool lends_planned);
  /// Creates a tensor over `data` from sizes_, strides_ and the type.
  runtime::EValue tensor_over(const uint8_t* data, size_t rank, size_t bytes);
  runtime::EValue scalar_value(const ArgumentPlace& place);
  /// True if the object is a Python number for an input that is a tensor without dimensions.
  bool is_number(pybind11::handle object) const;
  runtime::EValue number_value(const ArgumentPlace& place);

  runtime::Tag tag_;
  const ElementTypeInfo* type_ = nullptr;
  std::string type_name_;
  /// The number that the program was exported with, as text, if it accepts no other.
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
  TensorType tensor_type_;
  bool may_have_run_code_ = false;
  /// True if the method uses the object's memory.
  bool is_lent_ = false;
  std::array<executorch::aten::SizesType, kMaxRank> sizes_;
  std::array<executorch::aten::StridesType, kMaxRank> strides_;
  /// Elements of an object whose layout differs from the method's.
  std::vector<uint8_t> copy_;
  std::optional<ET_RUNTIME_NAMESPACE::internal::TensorSlot> tensor_;
  std::optional<executorch::aten::ArrayRef<char>> text_;
};

}  // namespace executorch::extension::pybindings
