// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/load/alias_model.h>

#include <string.h>

#include <new>
#include <utility>

#include <executorch/runtime/executor/load/value_loader.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::is_view;
using executorch::runtime::internal::planned_range;
using executorch::runtime::internal::PlannedRange;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::tensors_in;
using executorch::runtime::internal::TensorSource;
using executorch::runtime::internal::text;
using executorch::runtime::internal::value_at;

// Functions that only this file calls are inline: the compiler merges those with one caller, which
// makes the code smaller and loading faster.

struct AliasModel::Role {
  static constexpr uint32_t kWrite = 1;
  /// Read; must not overlap a written value.
  static constexpr uint32_t kRead = 2;
  /// Read; may lie exactly where a written value lies.
  static constexpr uint32_t kReadInPlace = 4;

  static constexpr unsigned kBits = 3;
  static constexpr uint32_t kMask = (1u << kBits) - 1;
};

Error AliasModel::check() {
  static_assert(sizeof(Node) == sizeof(EValue) && alignof(Node) <= alignof(EValue),
                "nodes are built in the memory of values");
  set_up();
  const Error error = check_all();
  restore_values();
  return error;
}

inline void AliasModel::set_up() {
  nodes_ = reinterpret_cast<Node*>(block_.values.data());
  uint32_t tensors = 0;
  for (uint32_t i = 0; i < block_.flags.size(); ++i) {
    EValue& value = block_.values[i];
    if (value.isTensor()) {
      uint8_t& flags = block_.flags[i];
      value.~EValue();
      const uint32_t traits = ((flags & kResizableValue) != 0 ? Node::kResizable : uint32_t{0}) |
                              ((flags & kLateValue) != 0 ? Node::kGiven : uint32_t{0});
      new (&nodes_[i]) Node{i, i, kEnd << Role::kBits, tensors++ << Node::kTraitBits | traits};
      flags &= static_cast<uint8_t>(~(kResizableValue | kGivenView));
      const bool is_input = (flags & kInputValue) != 0;
      const PlannedRange own = is_input ? range(i) : PlannedRange();
      flags |= is_input && (flags & kLateValue) != 0 ? kShowsGivenInput : 0;
      if (own.buffer != 0) {
        inputs_ = {own.buffer, own.begin < inputs_.begin ? own.begin : inputs_.begin,
                   own.end > inputs_.end ? own.end : inputs_.end};
        nodes_[i].mark_near_input(true);
      }
    } else {
      const bool has_tensors = value.isTensorList() || value.isListOptionalTensor();
      const EValue::Payload::TriviallyCopyablePayload payload = value.payload.copyable_union;
      const auto tag = static_cast<uint32_t>(value.tag);
      uint64_t words = 0;
      static_assert(sizeof(words) == sizeof(payload), "a node keeps the payload");
      memcpy(&words, &payload, sizeof(words));
      new (&nodes_[i]) Node{0, 0, tag, (has_tensors ? kTensorList : kNoTensor) << Node::kTraitBits};
      nodes_[i].set_words(words);
    }
  }
}

inline void AliasModel::restore_values() {
  for (uint32_t i = 0; i < block_.flags.size(); ++i) {
    const Node node = nodes_[i];
    if (node.slot() < kTensorList) {
      new (&block_.values[i]) EValue(tensor_in(block_.tensors[node.slot()]));
    } else {
      EValue& value = *new (&block_.values[i]) EValue();
      const uint64_t words = node.words();
      memcpy(&value.payload.copyable_union, &words, sizeof(words));
      value.tag = static_cast<Tag>(node.use);
    }
  }
}

inline Error AliasModel::check_all() {
  for (const Kernel* kernel : block_.kernels) {
    if (ET_SHORTCUTS && kernel != nullptr && is_view(kernel->name_)) {
      view_kernel_ = kernel;
    }
  }
  const bool has_view_kernels = !ET_SHORTCUTS || view_kernel_ != nullptr;
  for (index_ = 0; index_ < block_.instructions.size(); ++index_) {
    // Loading has left has_late_memory false.
    if (has_view_kernels || is_loaded_ || block_.instructions[index_].opcode != Opcode::Kernel) {
      ET_CHECK_OK_OR_RETURN_ERROR(link(block_.instructions[index_]));
    }
  }
  // Without views and moves, each value is a class of its own.
  if (!ET_SHORTCUTS || has_views_ || views_outlive_) {
    complete_flags();
  }
  // The check and consume_inputs() give the bit other meanings.
  for (uint8_t& flags : block_.flags) {
    flags &= static_cast<uint8_t>(~kShowsGivenInput);
  }
  for (index_ = 0; index_ < block_.instructions.size(); ++index_) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_instruction(block_.instructions[index_]));
  }
  consume_inputs();
  return Error::Ok;
}

/// Gives flags of classes to their values.
inline void AliasModel::complete_flags() {
  for (uint32_t i = 0; i < block_.flags.size(); ++i) {
    if (!is_tensor(i)) {
      continue;
    }
    uint8_t& flags = block_.flags[i];
    const uint8_t class_flags = block_.flags[find(i)];
    flags |= class_flags & kConstantValue;
    if ((flags & kViewValue) != 0 && (class_flags & kShowsGivenInput) != 0) {
      flags |= kGivenView;
      given_views_end_ = i + 1;
    }
  }
}

/// Several kernels may have the name, for example for certain dtypes.
inline bool AliasModel::makes_view(const Kernel& kernel) const {
  return (ET_SHORTCUTS && &kernel == view_kernel_) || is_view(kernel.name_);
}

ET_INLINE_UNLESS_SMALL bool AliasModel::is_view_call(const Instruction& loaded) const {
  // The full name decides: the file may split it into name and overload differently.
  return loaded.opcode == Opcode::Kernel && makes_view(kernel_of(loaded)) && loaded.number >= 3 &&
         is_tensor(index_of(loaded.arguments[0])) && is_tensor(index_of(loaded.arguments[2]));
}

/// Merges the classes of the source and the destination of a move or view.
ET_INLINE_UNLESS_SMALL Error AliasModel::link(Instruction& loaded) {
  uint8_t flag = kMovedValue;
  uint32_t target = 1;
  // check_instruction() reads this flag, then sets its final value.
  loaded.has_late_memory = is_view_call(loaded);
  if (loaded.has_late_memory) {
    flag = kViewValue;
    target = 2;
  } else if (loaded.opcode != Opcode::Move) {
    views_outlive_ |= loaded.opcode == Opcode::JumpFalse;
    return Error::Ok;
  }
  const uint32_t from = index_of(loaded.arguments[0]);
  const uint32_t to = index_of(loaded.arguments[target]);
  if (!is_tensor(from)) {
    return Error::Ok;
  }
  if (flag == kViewValue) {
    has_views_ = true;
    ET_CHECK_OK_OR_RETURN_ERROR(check_shown(from, to));
  } else {
    views_outlive_ = true;
  }
  const int other = block_.flags[to] & (kInputValue | kViewValue | kMovedValue) & ~flag;
  ET_CHECK_OR_RETURN_ERROR(other == 0 && from != to, InvalidProgram,
                           "method '%s', instruction %zu: value %u becomes %s value %u, but is %s; "
                           "expected a value that "
                           "nothing else gives memory or sizes",
                           text(plan_.name()), index_, to,
                           flag == kViewValue ? "a view of" : "the tensor that is", from,
                           other == 0                   ? "the same"
                           : (other & kInputValue) != 0 ? "an input"
                           : (other & kViewValue) != 0  ? "a view"
                                                        : "the target of a MoveCall");
  block_.flags[to] |= flag | (flag == kViewValue ? kLateValue : 0);
  uint32_t root = find(from);
  uint32_t joined = find(to);
  if (root != joined) {
    // A view's bytes are its base's, so the class need not compare them again.
    if (flag != kViewValue || nodes_[joined].next != joined) {
      // Many values are often moved to one: hanging each below it keeps the tree flat.
      if (flag != kViewValue && nodes_[root].next == root) {
        std::swap(root, joined);
      }
      std::swap(nodes_[root].next, nodes_[joined].next);
    }
    nodes_[joined].root = root;
  }
  block_.flags[root] |=
      (block_.flags[joined] | block_.flags[to]) & (kConstantValue | kLateValue | kShowsGivenInput);
  return Error::Ok;
}

inline Error AliasModel::check_shown(uint32_t base, uint32_t view) const {
  // A static tensor that is given its memory needs no look at the file.
  if (ET_SHORTCUTS && nodes_[view].has(Node::kGiven) && !nodes_[view].has(Node::kResizable)) {
    return Error::Ok;
  }
  const fb::Tensor& shown = *tensor_at(plan_, view);
  const TensorSource source = tensor_source(shown);
  const bool is_bounded = shown.shape_dynamism() != fb::TensorShapeDynamism::DYNAMIC_UNBOUND;
  const PlannedRange own = planned_range(shown);
  const PlannedRange whole = planned_range(*tensor_at(plan_, base));
  const bool is_at_base = own.buffer == whole.buffer && own.begin == whole.begin &&
                          own.end <= whole.end && source == TensorSource::Planned;
  ET_CHECK_OR_RETURN_ERROR(
      (source == TensorSource::None || is_at_base) && is_bounded, InvalidProgram,
      "method '%s', instruction %zu: the view, value %u, has memory of its own or no bound (source "
      "%u, buffer %u, bytes %" PRIu64 " to %" PRIu64
      "); expected none, or its base's, value %u (buffer %u, bytes %" PRIu64 " to %" PRIu64 ")",
      text(plan_.name()), index_, view, static_cast<unsigned>(source), own.buffer, own.begin,
      own.end, base, whole.buffer, whole.begin, whole.end);
  return Error::Ok;
}

ET_INLINE_UNLESS_SMALL Error AliasModel::check_instruction(Instruction& loaded) {
  const Span<EValue*> arguments(loaded.arguments, loaded.number);
  uint64_t written = Kernel::kDisjoint;
  size_t first_written = arguments.size();
  const bool is_view = loaded.has_late_memory;
  loaded.has_late_memory = false;
  seen_flags_ = 0;
  list_ = kEnd;
  if (loaded.opcode == Opcode::Kernel) {
    const Kernel& kernel = kernel_of(loaded);
    written = kernel.written_;
    loaded.kernel = is_loaded_ ? loaded.kernel : kernel.op_;
    first_written -= (written << Kernel::kOptionBits) == 0 ? 1 : 0;
  } else if (loaded.opcode != Opcode::Delegate) {
    return Error::Ok;
  }
  if (is_view) {
    // It reads its base's address and sizes; it writes neither to the base nor to the view.
    views_outlive_ |= is_unmade_view(block_.flags[index_of(arguments[0])]);
    block_.flags[index_of(arguments[2])] |= kMadeView;
    return Error::Ok;
  }
  if (loaded.opcode == Opcode::Delegate) {
    const Delegate& delegate = *loaded.delegate;
    const size_t outputs = delegate.backend->output_count(delegate.handle);
    // If the backend does not report its written arguments, take the last one, if any.
    const size_t last = arguments.empty() ? 0 : 1;
    first_written -= outputs == BackendInterface::kUnknownOutputs ? last : outputs;
    ET_CHECK_OR_RETURN_ERROR(
        first_written <= arguments.size(), InvalidProgram,
        "method '%s', instruction %zu: delegate %zu has %zu outputs, expected at most the call's "
        "%zu arguments",
        text(plan_.name()), index_, static_cast<size_t>(&delegate - block_.delegates.data()),
        outputs, arguments.size());
  }
  const bool is_plain = ET_SHORTCUTS && is_plain_call(arguments, written, first_written);
  const Error error = is_plain ? Error::Ok : check_call(arguments, written, first_written);
  loaded.has_late_memory = (seen_flags_ & kLateValue) != 0;
  return error;
}

ET_INLINE_UNLESS_SMALL Error AliasModel::check_call(Span<EValue*> arguments, uint64_t written,
                                                    size_t first_written) {
  // Mark written arguments first: the last argument repeats the operator's result, and by then it
  // has its role.
  const bool is_apart = (written & Kernel::kDisjoint) != 0;
  const uint32_t read = is_apart ? Role::kRead : Role::kReadInPlace;
  const uint32_t read_first =
      is_apart && (written & Kernel::kDisjointButFirst) == 0 ? Role::kRead : Role::kReadInPlace;
  const uint64_t all_bits = written << Kernel::kOptionBits >> Kernel::kOptionBits;
  uint64_t bits = all_bits;
  for (size_t i = 0; i < arguments.size(); ++i, bits >>= 1) {
    if (i >= first_written || (bits & 1) != 0) {
      ET_CHECK_OK_OR_RETURN_ERROR(give_role(i, arguments[i], Role::kWrite, 0));
    }
  }
  written_ = list_;
  bits = all_bits;
  for (size_t i = 0; i < arguments.size() && i < first_written; ++i, bits >>= 1) {
    if ((bits & 1) == 0) {
      const uint32_t returned = i + 1 == arguments.size() ? Role::kWrite : 0;
      ET_CHECK_OK_OR_RETURN_ERROR(give_role(i, arguments[i], i == 0 ? read_first : read, returned));
    }
  }
  return check_places();
}

/// Gives a role to an argument unless it is neither a tensor nor a list, or has the role
/// `returned`.
ET_INLINE_UNLESS_SMALL Error AliasModel::give_role(size_t argument, const EValue* tensors,
                                                   uint32_t role, uint32_t returned) {
  const uint32_t value = index_of(tensors);
  const Node& node = nodes_[value];
  if (node.slot() == kTensorList) {
    return touch_list(argument, value, role, returned);
  }
  return node.slot() == kNoTensor || (node.use & returned) != 0 ? Error::Ok
                                                                : touch(argument, value, role);
}

/// Gives the tensors of a list a role, except those with the role `returned`.
Error AliasModel::touch_list(size_t argument, uint32_t value, uint32_t role, uint32_t returned) {
  for (const int32_t item : tensors_in(value_at(plan_, value))) {
    if (item >= 0 && (nodes_[item].use & returned) == 0 && is_tensor(static_cast<uint32_t>(item))) {
      ET_CHECK_OK_OR_RETURN_ERROR(touch(argument, static_cast<uint32_t>(item), role));
    }
  }
  return Error::Ok;
}

/// Gives a role to the value and to all that may be the same tensor, if the rules allow it.
ET_INLINE_UNLESS_SMALL Error AliasModel::touch(size_t argument, uint32_t value, uint32_t role) {
  // Copies of the pointers: the compiler would load them again after each change of a flag.
  Node* const nodes = nodes_;
  uint8_t* const all_flags = block_.flags.data();
  const uint32_t root = find(value);
  const uint8_t flags = all_flags[value];
  const uint8_t class_flags = all_flags[root];
  seen_flags_ |= class_flags;
  views_outlive_ |= is_unmade_view(flags);
  const bool writes = role == Role::kWrite;
  const bool is_constant = writes && (class_flags & kConstantValue) != 0;
  const bool is_view = writes && (flags & kViewValue) != 0;
  // A value that is written to already may be read as well if the kernel allows that and never
  // changes its sizes.
  const bool is_same = (nodes[root].use & Role::kWrite) != 0 &&
                       (role != Role::kReadInPlace || (class_flags & kResizedValue) != 0);
  ET_CHECK_OR_RETURN_ERROR(
      !is_constant && !is_view && !is_same, InvalidProgram,
      "method '%s', instruction %zu: argument %zu (value %u) is %s, but %s", text(plan_.name()),
      index_, argument, value, writes ? "written to" : "read",
      is_constant ? "may be a constant"
      : is_view   ? "is a view, which shows another value's memory"
                  : "may be the same tensor as another argument that is written to or resized");
  uint32_t member = root;
  do {
    Node& node = nodes[member];
    uint32_t use = node.use;
    if ((use & Role::kMask) == 0) {
      use = list_ << Role::kBits;
      list_ = member;
    }
    node.use = use | role;
    if (writes) {
      all_flags[member] |= kWrittenValue;
      all_flags[root] |= node.has(Node::kResizable) ? kResizedValue : 0;
    }
    member = node.next;
    ET_CHECK_OR_RETURN_ERROR(member == root || spend(), InvalidProgram,
                             "method '%s', instruction %zu: value %u shares its memory with too "
                             "many others for the size of the file",
                             text(plan_.name()), index_, value);
  } while (member != root);
  return Error::Ok;
}

/// Returns true if the range around all values of a class lies apart from `others`, addresses, and
/// from all inputs.
inline bool AliasModel::lies_apart(uint32_t root, const PlannedRange& others) {
  const PlannedRange* const whole = around(root);
  return whole != nullptr && !whole->overlaps(others) && !whole->overlaps(inputs_);
}

/// Checks that no written value shares bytes with another one, except with a whole value that the
/// kernel may read in place. Clears the roles.
ET_INLINE_UNLESS_SMALL Error AliasModel::check_places() {
  const auto in_file = [this](uint32_t value) { return planned_range(*tensor_at(plan_, value)); };
  (void)in_file;  // for the message alone
  Node* const nodes = nodes_;
  PlannedRange last{0, UINT64_MAX, 0};
  bool is_sorted = true;
  uint32_t root = kEnd;
  uint32_t first = kEnd;
  // From the first to the last byte that is read, in whichever buffer.
  PlannedRange all_read{kAddresses, UINT64_MAX, 0};
  for (uint32_t i = ET_SHORTCUTS ? list_ : written_; i != written_;
       i = nodes[i].use >> Role::kBits) {
    all_read.extend(range(i));
  }
  bool is_apart = false;
  for (uint32_t written = written_; written != kEnd; written = nodes[written].use >> Role::kBits) {
    // The values of a class follow each other in the list. They may share bytes.
    if (find(written) != root) {
      root = find(written);
      first = written;
      is_apart = ET_SHORTCUTS && written == written_ && nodes[root].next != root &&
                 lies_apart(root, all_read);
    }
    if (is_apart) {
      is_sorted = false;
      continue;
    }
    const PlannedRange place = range(written);
    nodes[written].mark_near_input(place.overlaps(inputs_));
    if (place.buffer == 0) {
      continue;
    }
    // Each pair of written values is compared once. A list has its last result first: where plans
    // let results follow each other, every one lies before all that have been compared.
    is_sorted =
        is_sorted && (last.buffer == 0 || last.buffer == place.buffer) && place.end <= last.begin;
    last = place;
    const uint32_t end = is_sorted ? written_ : first;
    const bool meets_read =
        !ET_SHORTCUTS || (place.begin < all_read.end && all_read.begin < place.end);
    for (uint32_t other = meets_read ? list_ : written_; other != end;
         other = nodes[other].use >> Role::kBits) {
      ET_CHECK_OR_RETURN_ERROR(spend(), InvalidProgram,
                               "method '%s', instruction %zu: too many arguments are written to "
                               "for the size of the file",
                               text(plan_.name()), index_);
      const uint32_t role = nodes[other].use & Role::kMask;
      const PlannedRange own = range(other);
      const bool may_overlap =
          role == Role::kReadInPlace && own.begin == place.begin && own.end == place.end;
      ET_CHECK_OR_RETURN_ERROR(
          !own.overlaps(place) || may_overlap, InvalidProgram,
          "method '%s', instruction %zu: value %u (bytes %" PRIu64 " to %" PRIu64
          " of planned buffer %u) shares bytes with value %u (%" PRIu64 " to %" PRIu64
          "), which the call writes to; expected %s",
          text(plan_.name()), index_, other, in_file(other).begin, in_file(other).end,
          in_file(other).buffer, written, in_file(written).begin, in_file(written).end,
          role == Role::kReadInPlace ? "places apart, or the same" : "places apart");
    }
  }
  for (uint32_t value = list_; value != kEnd;) {
    uint32_t& use = nodes[value].use;
    value = use >> Role::kBits;
    use = 0;
  }
  return Error::Ok;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
