// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sizes, dims, offsets and indices that the program computes while it runs, with values at the
// limits of their types, which no check at load sees.
#include <limits>

#include "fuzz/hostile/calls/hostile_call.h"
#include "fuzz/hostile/four_floats.h"

namespace executorch::testing {
namespace {

using calls::kHuge;
using calls::kMax;
using calls::kMin;

struct Limit {
  const char* name;
  int64_t number;
};
constexpr Limit kLimits[] = {
    {"Min", kMin},         {"MinOfInt32", INT32_MIN},
    {"MinusOne", -1},      {"Zero", 0},
    {"Three", 3},          {"AfterInt32", 1LL << 31},
    {"Huge", kHuge},       {"Quarter", kMax / 4 + 1},
    {"NearMax", kMax - 3}, {"Max", kMax},
};

/// A number that instructions compute from halves.
int32_t computed(W& w, int64_t n) {
  const int32_t sum = number(w, 5);
  w.call("executorch_prim::add.Scalar", {number(w, n / 2), number(w, n - n / 2), sum, sum});
  return sum;
}

int32_t computed_sizes(W& w, std::vector<int64_t> numbers) {
  std::vector<int64_t> items;
  for (const int64_t n : numbers) items.push_back(computed(w, n));
  return w.value(list(Kind::IntList, std::move(items)));
}

/// A matrix of 4 by 3 floats, and results that may be resized to a few hundred bytes.
int32_t matrix(W& w) { return w.input(planned(w, {4, 3})); }
int32_t bounded(W& w, Sizes sizes, Type type = kFloat) { return w.planned(type, sizes, kBound); }

/// Four indices, each the number.
int32_t indices(W& w, int64_t n) {
  const int32_t all = w.planned(Type::LONG, {4});
  w.call("aten::full.out", {w.ints({4}), computed(w, n), all, all});
  return all;
}

struct Use {
  const char* name;
  void (*write)(W& w, int64_t n);
};

void finish(W& w, const std::string& op, std::vector<int32_t> arguments, int32_t out) {
  arguments.insert(arguments.end(), {out, out});
  w.call(op, std::move(arguments));
  w.output(out);
}

constexpr Use kSizes[] = {
    {"Full",
     [](W& w, int64_t n) {
       finish(w, "aten::full.out", {computed_sizes(w, {n, 2}), number(w, 1)}, bounded(w, {4, 2}));
     }},
    {"Empty",
     [](W& w, int64_t n) {
       finish(w, "aten::empty.out", {computed_sizes(w, {0, n, n}), w.value(none())},
              bounded(w, {1, 4, 4}));
     }},
    {"Expand",
     [](W& w, int64_t n) {
       finish(w, "aten::expand_copy.out",
              {w.input(planned(w, {1, 3})), computed_sizes(w, {n, 3}), w.value(boolean(false))},
              bounded(w, {4, 3}));
     }},
    {"Repeat",
     [](W& w, int64_t n) {
       finish(w, "aten::repeat.out", {matrix(w), computed_sizes(w, {n, 1})}, bounded(w, {8, 3}));
     }},
    {"RepeatOfNothing",
     [](W& w, int64_t n) {
       finish(w, "aten::repeat.out", {w.input(planned(w, {0, 3})), computed_sizes(w, {n, n})},
              bounded(w, {8, 9}));
     }},
    {"View",
     [](W& w, int64_t n) {
       finish(w, "aten::view_copy.out", {matrix(w), computed_sizes(w, {n, -1})},
              bounded(w, {4, 3}));
     }},
    {"PlannedView",
     [](W& w, int64_t n) {
       const int32_t view = unmade(w, {4, 3}, kBound);
       w.call("executorch_prim::et_view.default",
              {matrix(w), computed_sizes(w, {n, -1}), view, view});
       finish(w, "aten::neg.out", {view}, bounded(w, {4, 3}));
     }},
    {"StridedSizes",
     [](W& w, int64_t n) {
       finish(w, "aten::as_strided_copy.out",
              {matrix(w), computed_sizes(w, {n, 2}), computed_sizes(w, {0, 1}), number(w, 0)},
              bounded(w, {4, 2}));
     }},
    {"Strides",
     [](W& w, int64_t n) {
       finish(w, "aten::as_strided_copy.out",
              {matrix(w), computed_sizes(w, {2, 2}), computed_sizes(w, {n, n}), computed(w, n)},
              bounded(w, {2, 2}));
     }},
    {"StridesOfASizeOfOne",
     [](W& w, int64_t n) {
       finish(w, "aten::as_strided_copy.out",
              {matrix(w), computed_sizes(w, {1, 2}), computed_sizes(w, {n, 1}), number(w, 10)},
              bounded(w, {1, 2}));
     }},
    {"StridedOffset",
     [](W& w, int64_t n) {
       finish(w, "aten::as_strided_scatter.out",
              {matrix(w), w.input(planned(w, {2, 2})), computed_sizes(w, {2, 2}),
               computed_sizes(w, {3, 1}), computed(w, n)},
              bounded(w, {4, 3}));
     }},
    {"Pads",
     [](W& w, int64_t n) {
       finish(w, "aten::constant_pad_nd.out",
              {matrix(w), computed_sizes(w, {n, 0, -1, n}), number(w, 0)}, bounded(w, {8, 8}));
     }},
    {"SplitSizes",
     [](W& w, int64_t n) {
       const int32_t results = tensors(w, {bounded(w, {4, 3}), bounded(w, {4, 3})});
       w.call("aten::split_with_sizes_copy.out",
              {matrix(w), computed_sizes(w, {n, 4}), number(w, 0), results, results});
     }},
    {"SplitSize",
     [](W& w, int64_t n) {
       const int32_t results = tensors(w, {bounded(w, {4, 3}), bounded(w, {4, 3})});
       w.call("aten::split_copy.Tensor_out",
              {matrix(w), computed(w, n), number(w, 0), results, results});
     }},
    {"Upsample",
     [](W& w, int64_t n) {
       finish(w, "aten::upsample_nearest2d.out",
              {w.input(planned(w, {1, 1, 2, 2})), computed_sizes(w, {n, 2}), w.value(none()),
               w.value(none())},
              bounded(w, {1, 1, 4, 2}));
     }},
    {"AdaptivePool",
     [](W& w, int64_t n) {
       finish(w, "aten::_adaptive_avg_pool2d.out",
              {w.input(planned(w, {1, 1, 4, 4})), computed_sizes(w, {n, 2})},
              bounded(w, {1, 1, 4, 2}));
     }},
    {"PixelShuffle",
     [](W& w, int64_t n) {
       finish(w, "aten::pixel_shuffle.out", {w.input(planned(w, {1, 9, 2, 2})), computed(w, n)},
              bounded(w, {1, 1, 6, 6}));
     }},
};

constexpr Use kPositions[] = {
    {"SliceStart",
     [](W& w, int64_t n) {
       finish(w, "aten::slice_copy.Tensor_out",
              {matrix(w), number(w, 0), computed(w, n), number(w, kMax), number(w, 1)},
              bounded(w, {4, 3}));
     }},
    {"SliceEndAndStep",
     [](W& w, int64_t n) {
       finish(w, "aten::slice_copy.Tensor_out",
              {matrix(w), number(w, 0), number(w, 1), computed(w, n), computed(w, n)},
              bounded(w, {4, 3}));
     }},
    {"SliceDim",
     [](W& w, int64_t n) {
       finish(w, "aten::slice_copy.Tensor_out",
              {matrix(w), computed(w, n), number(w, 0), number(w, 2), number(w, 1)},
              bounded(w, {4, 3}));
     }},
    {"SliceScatter",
     [](W& w, int64_t n) {
       finish(w, "aten::slice_scatter.out",
              {matrix(w), w.input(planned(w, {2, 3})), number(w, 0), computed(w, n), computed(w, n),
               computed(w, n)},
              bounded(w, {4, 3}));
     }},
    {"Narrow",
     [](W& w, int64_t n) {
       finish(w, "aten::narrow_copy.out", {matrix(w), number(w, 0), computed(w, n), computed(w, n)},
              bounded(w, {4, 3}));
     }},
    {"Select",
     [](W& w, int64_t n) {
       finish(w, "aten::select_copy.int_out", {matrix(w), number(w, 0), computed(w, n)},
              bounded(w, {3}));
     }},
    {"SelectScatter",
     [](W& w, int64_t n) {
       finish(w, "aten::select_scatter.out",
              {matrix(w), w.input(planned(w, {3})), number(w, 0), computed(w, n)},
              bounded(w, {4, 3}));
     }},
    {"Unfold",
     [](W& w, int64_t n) {
       finish(w, "aten::unfold_copy.out", {matrix(w), number(w, 0), computed(w, n), number(w, 1)},
              bounded(w, {5, 3, 4}));
     }},
    {"UnfoldStep",
     [](W& w, int64_t n) {
       finish(w, "aten::unfold_copy.out", {matrix(w), number(w, 0), number(w, 2), computed(w, n)},
              bounded(w, {4, 3, 4}));
     }},
    {"Roll",
     [](W& w, int64_t n) {
       finish(w, "aten::roll.out", {matrix(w), computed_sizes(w, {n, n}), w.ints({0, 1})},
              bounded(w, {4, 3}));
     }},
    {"Permute",
     [](W& w, int64_t n) {
       finish(w, "aten::permute_copy.out", {matrix(w), computed_sizes(w, {n, 0})},
              bounded(w, {4, 4}));
     }},
    {"Flip",
     [](W& w, int64_t n) {
       finish(w, "aten::flip.out", {matrix(w), computed_sizes(w, {n, 0})}, bounded(w, {4, 3}));
     }},
    {"Topk",
     [](W& w, int64_t n) {
       const int32_t values = bounded(w, {4}), places = bounded(w, {4}, Type::LONG);
       w.call("aten::topk.values",
              {w.input(planned(w)), computed(w, n), number(w, 0), w.value(boolean(true)),
               w.value(boolean(true)), values, places, places});
     }},
    {"Triangle",
     [](W& w, int64_t n) {
       finish(w, "aten::tril.out", {matrix(w), computed(w, n)}, bounded(w, {4, 3}));
     }},
    {"Diagonal",
     [](W& w, int64_t n) {
       finish(w, "aten::diagonal_copy.out", {matrix(w), computed(w, n), number(w, 0), number(w, 1)},
              bounded(w, {4}));
     }},
    {"Cumsum",
     [](W& w, int64_t n) {
       finish(w, "aten::cumsum.out", {matrix(w), computed(w, n), w.value(none())},
              bounded(w, {4, 3}));
     }},
    {"Sum",
     [](W& w, int64_t n) {
       finish(w, "aten::sum.IntList_out",
              {matrix(w), computed_sizes(w, {n, 0}), w.value(boolean(true)), w.value(none())},
              bounded(w, {4, 3}));
     }},
    {"ArangeEnd",
     [](W& w, int64_t n) {
       finish(w, "aten::arange.start_out", {number(w, -1), computed(w, n), number(w, 1)},
              bounded(w, {8}, Type::LONG));
     }},
    {"ArangeStep",
     [](W& w, int64_t n) {
       finish(w, "aten::arange.start_out", {number(w, kMin), number(w, kMax), computed(w, n)},
              bounded(w, {8}, Type::LONG));
     }},
    {"ArangeOfFloats",
     [](W& w, int64_t n) {
       finish(w, "aten::arange.start_out", {computed(w, n), number(w, kMax), computed(w, n)},
              bounded(w, {8}));
     }},
    {"CopyIndex",
     [](W& w, int64_t n) {
       const int32_t rows = bounded(w, {4, 3});
       w.call("executorch_prim::et_copy_index.tensor",
              {rows, w.input(planned(w, {3})), computed(w, n), rows});
     }},
};

constexpr Use kIndices[] = {
    {"Gather",
     [](W& w, int64_t n) {
       finish(w, "aten::gather.out",
              {w.input(planned(w)), number(w, 0), indices(w, n), w.value(boolean(false))},
              bounded(w, {4}));
     }},
    {"Scatter",
     [](W& w, int64_t n) {
       finish(w, "aten::scatter.src_out",
              {w.input(planned(w)), number(w, 0), indices(w, n), w.input(planned(w))},
              bounded(w, {4}));
     }},
    {"ScatterAdd",
     [](W& w, int64_t n) {
       finish(w, "aten::scatter_add.out",
              {w.input(planned(w)), number(w, 0), indices(w, n), w.input(planned(w))},
              bounded(w, {4}));
     }},
    {"IndexSelect",
     [](W& w, int64_t n) {
       finish(w, "aten::index_select.out", {matrix(w), number(w, 0), indices(w, n)},
              bounded(w, {4, 3}));
     }},
    {"Index",
     [](W& w, int64_t n) {
       const int32_t items = w.value(list(Kind::OptionalTensorList, {-1, indices(w, n)}));
       finish(w, "aten::index.Tensor_out", {matrix(w), items}, bounded(w, {4, 4}));
     }},
    {"IndexPut",
     [](W& w, int64_t n) {
       const int32_t items = w.value(list(Kind::OptionalTensorList, {indices(w, n)}));
       finish(w, "aten::index_put.out",
              {w.input(planned(w)), items, w.input(planned(w)), w.value(boolean(true))},
              bounded(w, {4}));
     }},
    {"Embedding",
     [](W& w, int64_t n) {
       finish(w, "aten::embedding.out",
              {matrix(w), indices(w, n), number(w, -1), w.value(boolean(false)),
               w.value(boolean(false))},
              bounded(w, {4, 3}));
     }},
    {"RepeatInterleave",
     [](W& w, int64_t n) {
       finish(w, "aten::repeat_interleave.Tensor_out", {indices(w, n), computed(w, n)},
              bounded(w, {64}, Type::LONG));
     }},
    {"Bincount",
     [](W& w, int64_t n) {
       finish(w, "aten::bincount.out", {indices(w, n), w.value(none()), computed(w, n)},
              bounded(w, {8}, Type::LONG));
     }},
};

/// A number computed by one operator of numbers, and then a size.
HostileProgram arithmetic(const std::string& name, const std::string& op, std::vector<TestValue> of,
                          TestValue result) {
  const auto make = [op, of, result] {
    W w;
    std::vector<int32_t> arguments;
    for (const TestValue& value : of) arguments.push_back(w.value(value));
    const int32_t id = w.value(result);
    arguments.insert(arguments.end(), {id, id});
    w.call("executorch_prim::" + op + ".Scalar", std::move(arguments));
    if (result.kind == Kind::Int) {
      const int32_t sizes = w.value(list(Kind::IntList, {id}));
      finish(w, "aten::full.out", {sizes, number(w, 1)}, bounded(w, {4}));
    }
    return w.finish();
  };
  return {name, make, ""};
}

Rows operators_of_numbers() {
  Rows rows;
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string op :
       {"add", "sub", "mul", "floordiv", "mod", "pow", "sym_max", "sym_min"}) {
    const std::pair<const char*, std::pair<int64_t, int64_t>> pairs[] = {
        {"OfMinAndMinusOne", {kMin, -1}}, {"OfMinAndZero", {kMin, 0}},
        {"OfMaxAndMax", {kMax, kMax}},    {"OfMinAndMin", {kMin, kMin}},
        {"OfTwoAnd62", {2, 62}},          {"OfZeroAndMinusOne", {0, -1}},
    };
    for (const auto& [name, of] : pairs) {
      rows.push_back(arithmetic("Numbers_" + op + name, op, {integer(of.first), integer(of.second)},
                                integer(0)));
    }
    rows.push_back(arithmetic("Numbers_" + op + "OfAnInfinity", op, {real(inf), real(0)}, real(0)));
  }
  for (const std::string op : {"sym_int", "round", "ceil", "floor", "trunc"}) {
    const std::pair<const char*, double> numbers[] = {
        {"OfNan", nan},     {"OfInfinity", inf}, {"OfTwoTo63", 0x1p63}, {"OfMinusTwoTo63", -0x1p63},
        {"OfHuge", -1e300}, {"OfHalf", 0.5}};
    for (const auto& [name, of] : numbers) {
      rows.push_back(arithmetic("Numbers_" + op + name, op, {real(of)}, integer(0)));
    }
  }
  rows.push_back(arithmetic("Numbers_negOfMin", "neg", {integer(kMin)}, integer(0)));
  return rows;
}

}  // namespace

std::vector<HostileProgram> hostile_numbers() {
  Rows rows = operators_of_numbers();
  const auto add_uses = [&rows](const auto& uses) {
    for (const Use& use : uses) {
      for (const Limit& limit : kLimits) {
        const auto make = [&use, &limit] {
          W w;
          use.write(w, limit.number);
          return w.finish();
        };
        rows.push_back({std::string(use.name) + "Of" + limit.name, make, ""});
      }
    }
  };
  add_uses(kSizes);
  add_uses(kPositions);
  add_uses(kIndices);
  return rows;
}

}  // namespace executorch::testing
