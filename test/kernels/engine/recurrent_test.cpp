// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/recurrent/cells.h>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Cells, MatchDoublePrecisionAndKeepNaN) {
  Random random(73);
  constexpr size_t kGates = 61;
  const auto on_gates = [&] { return random.floats(4 * kGates, -9, 9); };
  for (size_t n : {1, 7, 16, 50, 61}) {
    Floats x = on_gates();
    const Floats h = on_gates(), bias = random.floats(kGates), before = random.floats(kGates);
    x[n / 2] = kNaN;
    for (Cell cell : {Cell::Lstm, Cell::Gru, Cell::Tanh, Cell::Relu}) {
      for (InstructionSet set : instruction_sets()) {
        Floats state(before), out(kGates, 77);
        cell_step(cell, set)(x.data(), h.data(), kGates, bias.data(), state.data(), out.data(), n);
        for (size_t i = 0; i < n; ++i) {
          const auto gate = [&](size_t g) {
            return double(x[i + g * kGates]) + double(h[i + g * kGates]);
          };
          double expected = cell == Cell::Tanh ? std::tanh(gate(0)) : gate(0);
          if (cell == Cell::Relu) expected = expected < 0 ? 0 : expected;
          if (cell == Cell::Lstm) {
            const double next =
                sigmoid(gate(1)) * before[i] + sigmoid(gate(0)) * std::tanh(gate(2));
            ASSERT_TRUE(is_near(next, state[i], tolerance::kGates)) << name_of(set);
            expected = sigmoid(gate(3)) * std::tanh(next);
          } else if (cell == Cell::Gru) {
            const double candidate =
                x[i + 2 * kGates] + sigmoid(gate(0)) * (h[i + 2 * kGates] + double(bias[i]));
            const double fresh = std::tanh(candidate);
            expected = (before[i] - fresh) * sigmoid(gate(1)) + fresh;
          }
          ASSERT_TRUE(is_near(expected, out[i], tolerance::kGates))
              << name_of(set) << " unit " << i;
          ASSERT_EQ(i == n / 2, std::isnan(out[i]));
        }
        for (size_t i = n; i < kGates; ++i) ASSERT_EQ(77, out[i]) << "wrote beyond the units";
      }
    }
  }
}

}  // namespace
