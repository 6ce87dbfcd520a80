// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/boxing.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {
namespace {

/// The names of a set of kinds, as "Int or Double", for a log message.
struct KindsText {
  char text[96];

  explicit KindsText(ArgKinds kinds) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t tag = 0; tag < 16; ++tag) {
      if ((kinds & (1u << tag)) == 0) {
        continue;
      }
      append(&length, length > 0 ? " or " : "");
      char name[executorch::runtime::kTagNameBufferSize];
      executorch::runtime::tag_to_string(static_cast<Tag>(tag), name, sizeof(name));
      append(&length, name);
    }
  }

  void append(size_t* length, const char* what) {
    while (*what != '\0' && *length + 1 < sizeof(text)) {
      text[(*length)++] = *what++;
    }
    text[*length] = '\0';
  }
};

/// Kinds of lists whose items are values of the program.
constexpr ArgKinds kListsOfValues =
    kinds_of(Tag::ListInt, Tag::ListTensor, Tag::ListOptionalTensor);

/// True if every item of a list is of the kind that the list says.
bool items_are_valid(const EValue& value) {
  switch (value.tag) {
    case Tag::ListInt:
      return value.payload.copyable_union.as_int_list_ptr->tryGet().ok();
    case Tag::ListTensor:
      return value.payload.copyable_union.as_tensor_list_ptr->tryGet().ok();
    case Tag::ListOptionalTensor:
      return value.payload.copyable_union.as_list_optional_tensor_ptr->tryGet().ok();
    default:
      return true;
  }
}

}  // namespace

Error check_arguments(Span<EValue* const> args, Span<const ArgKinds> expected) {
  // A program repeats an operator's results after its arguments; ignore the repetition.
  ET_CHECK_OR_RETURN_ERROR(args.size() >= expected.size(), InvalidArgument,
                           "the kernel takes %zu arguments, the program gives it %zu",
                           expected.size(), args.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(args[i] != nullptr, InvalidArgument, "argument %zu is null", i);
    const ArgKinds found = kinds_of(args[i]->tag);
    ET_CHECK_OR_RETURN_ERROR((found & expected[i]) != 0, InvalidType,
                             "argument %zu: expected %s, found %s", i, KindsText(expected[i]).text,
                             KindsText(found).text);
    ET_CHECK_OR_RETURN_ERROR((found & kListsOfValues) == 0 || items_are_valid(*args[i]),
                             InvalidType, "argument %zu: a list with an item of another kind", i);
  }
  return Error::Ok;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
