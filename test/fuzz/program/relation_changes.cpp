// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/relation_changes.h"

#include <algorithm>
#include <utility>

#include "fuzz/program/mutate_program.h"

namespace executorch::testing {
namespace {

using fuzz::Memory;
using fuzz::ProgramEditor;
using Apply = std::function<void(ProgramEditor&)>;
using Code = fb::InstructionArguments;
using Kind = fb::KernelTypes;
using Type = fb::ScalarType;
using Dynamism = fb::TensorShapeDynamism;

constexpr int64_t kExtremes[] = {0, -1, INT32_MAX, INT64_C(1) << 31, INT64_MAX, INT64_MIN};

bool is_list_of_values(Kind kind) {
  return kind == Kind::IntList || kind == Kind::TensorList || kind == Kind::OptionalTensorList;
}

/// Lists the changes of one program.
class Lister final {
 public:
  explicit Lister(const TestPlan& plan) : plan_(plan) {
    for (size_t i = 0; i < plan.values.size(); ++i) {
      if (plan.values[i].kind == Kind::Tensor) tensors_.push_back(static_cast<int32_t>(i));
    }
    size_ = plan.chains.empty() ? 0 : plan.chains[0].size();
  }

  std::vector<RelationChange> list() {
    for (const int32_t a : tensors_) {
      change_memory(a);
      change_shape(a);
      change_interface(a);
      for (const int32_t b : tensors_) {
        if (a != b) relate(a, b);
      }
    }
    change_values();
    change_arguments();
    change_flow();
    add("a second method", [](ProgramEditor& e) {
      TestPlan copy = e.plan;
      copy.name += "_again";
      e.program.plans.push_back(std::move(copy));
    });
    add("a parametric plan", [](ProgramEditor& e) { fuzz::add_parametric_plan(e); });
    return std::move(changes_);
  }

 private:
  void add(std::string relation, Apply apply) {
    changes_.push_back({std::move(relation), std::move(apply)});
  }
  /// Changes a tensor, whose planned buffer then has room for it.
  void add_to(std::string relation, int32_t value, std::function<void(TestTensor&)> apply) {
    add(std::move(relation), [=](ProgramEditor& e) {
      apply(e.tensor_at(value));
      e.fit(e.tensor_at(value));
    });
  }

  void change_memory(int32_t a) {
    add("is a constant", [=](ProgramEditor& e) { e.make_constant(e.tensor_at(a)); });
    add("is planned alone", [=](ProgramEditor& e) { e.plan_alone(e.tensor_at(a)); });
    add_to("has no memory", a, [](TestTensor& t) { t.memory_id = t.data_buffer_idx = 0; });
    add_to("has initial data", a, [](TestTensor& t) { t.data_buffer_idx = 1; });
    // In a data file; the second tensor of that name shares its data.
    for (const int32_t shared : {a, tensors_.back()}) {
      add("is found by name", [=](ProgramEditor& e) {
        for (const int32_t value : {a, shared}) {
          TestTensor& tensor = e.tensor_at(value);
          tensor.name = "w";
          tensor.location = fb::TensorDataLocation::EXTERNAL;
        }
        e.tensor_at(a).memory_id = 0;
      });
    }
    add_to("has initial data by name", a, [](TestTensor& t) {
      t.name = "w";
      t.location = fb::TensorDataLocation::EXTERNAL;
    });
  }

  void change_shape(int32_t a) {
    for (const Type type : {Type::DOUBLE, Type::BOOL, Type::CHAR, Type::LONG}) {
      add_to("has another dtype", a, [=](TestTensor& t) { t.type = type; });
    }
    const std::vector<std::vector<int32_t>> shapes = {
        {}, {0}, {1}, {INT32_MAX, INT32_MAX, 0}, {0, INT32_MAX}, {INT32_MAX}, {3, 1, 2}};
    for (const std::vector<int32_t>& sizes : shapes) {
      add("has other sizes", [=](ProgramEditor& e) {
        e.set_sizes(e.tensor_at(a), sizes);
        e.fit(e.tensor_at(a));
      });
    }
    add_to("has one more", a, [](TestTensor& t) {
      if (!t.sizes.empty() && t.sizes.front() < INT32_MAX) ++t.sizes.front();
    });
    add_to("has another dim order", a,
           [](TestTensor& t) { std::reverse(t.dim_order.begin(), t.dim_order.end()); });
    for (const Dynamism dynamism : {Dynamism::DYNAMIC_BOUND, Dynamism::DYNAMIC_UNBOUND}) {
      add_to("changes its sizes", a, [=](TestTensor& t) { t.dynamism = dynamism; });
    }
  }

  void change_interface(int32_t a) {
    add("is an input", [=](ProgramEditor& e) { e.plan.inputs.push_back(a); });
    add("is an output", [=](ProgramEditor& e) { e.plan.outputs.push_back(a); });
    for (size_t at = 0; at <= size_; ++at) {
      add("is freed", [=](ProgramEditor& e) { e.insert(free_value(a), at); });
    }
  }

  void relate(int32_t a, int32_t b) {
    for (const uint64_t beyond : {0u, 4u}) {
      add(beyond == 0 ? "has the same place" : "overlaps", [=](ProgramEditor& e) {
        const TestTensor& other = e.tensor_at(b);
        TestTensor& moved = e.tensor_at(a);
        moved.memory_id = other.memory_id;
        moved.data_buffer_idx = other.data_buffer_idx;
        moved.offset = other.offset + beyond;
        e.fit(moved);
      });
    }
    for (size_t at = 0; at <= size_; ++at) {
      add("is moved", [=](ProgramEditor& e) { e.insert(move(a, b), at); });
      add("is a view", [=](ProgramEditor& e) { insert_view(e, a, b, at); });
    }
  }

  static void insert_view(ProgramEditor& e, int32_t base, int32_t view, size_t at) {
    std::vector<int64_t> sizes;
    for (const int32_t size : e.tensor_at(view).sizes) sizes.push_back(e.add_int(size));
    const int32_t list = e.add_list(Kind::IntList, std::move(sizes));
    TestTensor& shown = e.tensor_at(view);
    shown.memory_id = shown.data_buffer_idx = 0;
    const int32_t op = e.operator_index("executorch_prim::et_view", "default");
    e.insert(kernel(op, {base, list, view, view}), at);
  }

  void change_values() {
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const TestValue& value = plan_.values[i];
      if (value.kind == Kind::Int) {
        for (const int64_t number : kExtremes) {
          add("is an extreme number", [=](ProgramEditor& e) { e.plan.values[i].number = number; });
        }
      } else if (value.kind == Kind::Bool) {
        add("is the other bool", [=](ProgramEditor& e) { e.plan.values[i].number ^= 1; });
      } else if (is_list_of_values(value.kind)) {
        change_list(i);
      }
    }
  }

  void change_list(size_t list) {
    const bool is_of_numbers = plan_.values[list].kind == Kind::IntList;
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const Kind kind = plan_.values[i].kind;
      if (i != list && kind != (is_of_numbers ? Kind::Int : Kind::Tensor)) continue;
      const auto item = static_cast<int64_t>(i);
      add("is an item more", [=](ProgramEditor& e) { e.plan.values[list].list.push_back(item); });
      for (size_t k = 0; k < plan_.values[list].list.size(); ++k) {
        add("is an item", [=](ProgramEditor& e) { e.plan.values[list].list[k] = item; });
      }
    }
    add("has an item less", [=](ProgramEditor& e) {
      auto& items = e.plan.values[list].list;
      if (!items.empty()) items.pop_back();
    });
  }

  void change_arguments() {
    for (size_t at = 0; at < size_; ++at) {
      const std::vector<int32_t>& arguments = plan_.chains[0][at].arguments;
      for (size_t k = 0; k < arguments.size(); ++k) {
        if (static_cast<size_t>(arguments[k]) >= plan_.values.size()) continue;
        const Kind kind = plan_.values[static_cast<size_t>(arguments[k])].kind;
        for (size_t i = 0; i < plan_.values.size(); ++i) {
          const auto value = static_cast<int32_t>(i);
          if (plan_.values[i].kind != kind || value == arguments[k]) continue;
          add("is an argument", [=](ProgramEditor& e) { replace(e, at, k, value); });
        }
      }
      add("has an argument less", [=](ProgramEditor& e) {
        auto& changed = e.chain()[at].arguments;
        if (!changed.empty()) changed.pop_back();
      });
    }
  }

  /// A result that the call repeats stays the same value.
  static void replace(ProgramEditor& e, size_t at, size_t k, int32_t value) {
    std::vector<int32_t>& arguments = e.chain()[at].arguments;
    const int32_t before = arguments[k];
    for (size_t i = k; i < arguments.size(); ++i) {
      if (arguments[i] == before) arguments[i] = value;
    }
  }

  void change_flow() {
    for (size_t at = 0; at <= size_; ++at) {
      for (size_t to = 0; to <= size_; ++to) {
        add("jumps", [=](ProgramEditor& e) {
          const int32_t condition = e.add_condition();
          e.insert(jump_false(condition, static_cast<int32_t>(to)), at);
        });
        if (at == size_) continue;
        add("is repeated", [=](ProgramEditor& e) { e.insert(TestInstruction(e.chain()[at]), to); });
      }
      if (at == size_) continue;
      add("is left out", [=](ProgramEditor& e) {
        e.chain().erase(e.chain().begin() + static_cast<ptrdiff_t>(at));
      });
    }
  }

  const TestPlan& plan_;
  std::vector<int32_t> tensors_;
  size_t size_ = 0;
  std::vector<RelationChange> changes_;
};

}  // namespace

std::vector<RelationChange> relation_changes(const TestProgram& program) {
  return program.plans.empty() ? std::vector<RelationChange>() : Lister(program.plans[0]).list();
}

}  // namespace executorch::testing
