// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Nodes of every kind on inputs with one size 0 and another one of 2^20, and with numbers that
// are huge: planning or computing that visits each row, window or step would run for minutes or
// without end, though there is nothing to compute.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <backends/xnnpack/payload/shape_rows.h>

#include "fuzz/program/execute_program.h"
#include "runtime/log_capture.h"

namespace executorch::backends::xnnpack {
namespace {

using testing::Dynamism;
using testing::Sizes;
using testing::Type;

/// A value of the payload with this size and another one of 1 has 4 MB. Loading plans for the
/// payload's sizes and touches that memory.
constexpr uint32_t kMany = 1u << 20;

/// Changes the sizes of one operand.
using Change = std::function<void(Dims&)>;

/// A payload, and the sizes of its inputs while it runs.
struct Case {
  TestPayload payload;
  std::vector<Dims> given;
};

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& list :
       {elementwise_rows(), product_rows(), convolution_rows(), image_rows(), move_rows()}) {
    for (const Row& row : list) {
      if (!row.result.empty()) rows.push_back(row);
    }
  }
  return rows;
}

/// @param has_constants All operands but the first one are constants, which have their own sizes.
/// @param declare, shrink Give the sizes in the payload, and then those of the inputs.
Case case_of(const Row& row, bool has_constants, const Change& declare, const Change& shrink) {
  Case made;
  TestPayload& p = made.payload;
  p.constant_fill = 0x3f;
  for (const Dims& dims : row.operands) {
    if (has_constants && !p.values.empty()) {
      hostile_constant(p, dims);
      continue;
    }
    Dims declared = dims, given = dims;
    declare(declared);
    shrink(given);
    p.values.push_back(input(static_cast<uint32_t>(made.given.size()), declared));
    made.given.push_back(given);
  }
  Dims result = row.declared.empty() ? row.result : row.declared;
  declare(result);
  const auto id = static_cast<uint32_t>(p.values.size());
  p.values.push_back(output(static_cast<uint32_t>(made.given.size()), result));
  p.nodes = {{row.kind, with_result(row.numbers, id), row.lists}};
  return made;
}

/// Returns the number of executions without an error.
size_t execute(const Case& given) {
  MethodWriter w;
  const int32_t delegate = add_delegate(w, given.payload);
  std::vector<int32_t> arguments;
  for (const Dims& dims : given.given) {
    arguments.push_back(w.input(w.planned(Type::FLOAT, Sizes(dims.begin(), dims.end()))));
  }
  const Sizes empty(given.payload.values.back().dims.size(), 0);
  arguments.push_back(w.output(w.given(Type::FLOAT, empty, Dynamism::DYNAMIC_UNBOUND)));
  w.run(testing::delegate(delegate, arguments));
  const testing::ProgramFile file(w.finish());
  const std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
  const LogCapture log;
  return fuzz::execute_program({bytes.data(), bytes.size()}).methods_executed;
}

/// Calls `visit` with the changes that make all sizes `many` kMany and all sizes `empty` 0 (1 in
/// the payload), and with those that do the same to dims.
void for_each_change(const Row& row,
                     const std::function<void(const Change&, const Change&)>& visit) {
  std::set<uint32_t> sizes;
  size_t rank = 0;
  for (const Dims& dims : row.operands) {
    sizes.insert(dims.begin(), dims.end());
    rank = std::max(rank, dims.size());
  }
  for (const uint32_t empty : sizes) {
    for (const uint32_t many : sizes) {
      if (empty == many) continue;
      const auto set_sizes = [=](Dims& dims, uint32_t size) {
        for (uint32_t& dim : dims) dim = dim == empty ? size : dim == many ? kMany : dim;
      };
      visit([=](Dims& dims) { set_sizes(dims, 1); }, [=](Dims& dims) { set_sizes(dims, 0); });
    }
  }
  for (size_t empty = 0; empty < rank; ++empty) {
    for (size_t many = 0; many < rank; ++many) {
      if (empty == many) continue;
      const auto set_dims = [=](Dims& dims, uint32_t size) {
        if (empty < dims.size()) dims[empty] = size;
        if (many < dims.size()) dims[many] = kMany;
      };
      visit([=](Dims& dims) { set_dims(dims, 1); }, [=](Dims& dims) { set_dims(dims, 0); });
    }
  }
}

TEST(EmptySizes, OfEveryKindOfNodeAreNotVisitedRowByRow) {
  size_t executed = 0;
  for (const Row& row : all_rows()) {
    for (const bool has_constants : {false, true}) {
      for_each_change(row, [&](const Change& declare, const Change& shrink) {
        executed += execute(case_of(row, has_constants, declare, shrink));
      });
    }
  }
  EXPECT_GT(executed, 100u);
}

TEST(EmptySizes, OfEveryKindOfNodeWithHugeNumbersAreNotVisitedStepByStep) {
  size_t executed = 0;
  const Change keep = [](Dims&) {};
  for (const Row& row : all_rows()) {
    for (size_t i = 0; i < row.numbers.size(); ++i) {
      for (const uint32_t number : {1u << 28, UINT32_MAX}) {
        Row changed = row;
        changed.numbers[i] = number;
        for (size_t empty = 0; empty < row.operands[0].size(); ++empty) {
          const Change shrink = [=](Dims& dims) {
            if (empty < dims.size()) dims[empty] = 0;
          };
          for (const bool has_constants : {false, true}) {
            executed += execute(case_of(changed, has_constants, keep, shrink));
          }
        }
      }
    }
  }
  EXPECT_GT(executed, 200u);
}

}  // namespace
}  // namespace executorch::backends::xnnpack
