// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Norms and softmax of rows.
#include <executorch/kernels/engine/norm/norm.h>
#include <executorch/kernels/engine/softmax/softmax.h>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

constexpr size_t kLengths[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 515};

/// Calls check(set, threads) for every instruction set on one thread and on three.
template <class Check>
void on_every_set(Check&& check) {
  for (InstructionSet set : instruction_sets()) {
    for (size_t count : {1, 3}) {
      ManyThreads threads(count);
      SCOPED_TRACE(name_of(set));
      check(set, threads);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Norm, LayerNormMatchesDoublePrecision) {
  Random random(21);
  for (size_t length : kLengths) {
    for (int options = 0; options < 4; ++options) {
      const size_t rows = random.size(1, 60);
      const Floats in = random.floats(rows * length, -3, 5);
      const Floats weight = random.floats(length), bias = random.floats(length);
      on_every_set([&](InstructionSet set, Threads& threads) {
        Floats out(in.size()), mean(rows), rstd(rows);
        NormCall call;
        call.in = in.data();
        call.out = out.data();
        call.rows = rows;
        call.length = length;
        call.weight = (options & 1) != 0 ? weight.data() : nullptr;
        call.bias = (options & 2) != 0 ? bias.data() : nullptr;
        call.epsilon = 1e-3f;
        call.mean = mean.data();
        call.rstd = rstd.data();
        layer_norm(call, threads, set);
        for (size_t r = 0; r < rows; ++r) {
          double sum = 0, squares = 0;
          for (size_t i = 0; i < length; ++i) sum += in[r * length + i];
          const double center = sum / double(length);
          for (size_t i = 0; i < length; ++i) {
            squares += (in[r * length + i] - center) * (in[r * length + i] - center);
          }
          const double scale = 1 / std::sqrt(squares / double(length) + 1e-3f);
          ASSERT_TRUE(is_near(center, mean[r], tolerance::kLayer));
          ASSERT_TRUE(is_near(scale, rstd[r], tolerance::kNormalized * scale));
          for (size_t i = 0; i < length; ++i) {
            const double y =
                (in[r * length + i] - center) * scale * (call.weight != nullptr ? weight[i] : 1) +
                (call.bias != nullptr ? bias[i] : 0);
            ASSERT_TRUE(is_near(y, out[r * length + i], tolerance::kNormalized))
                << length << " at " << i;
          }
        }
      });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Norm, RmsNormMatchesDoublePrecision) {
  Random random(23);
  for (size_t length : kLengths) {
    const size_t rows = random.size(1, 60);
    const Floats in = random.floats(rows * length, -3, 5), weight = random.floats(length);
    for (const bool is_weighted : {false, true}) {
      on_every_set([&](InstructionSet set, Threads& threads) {
        Floats out(in.size()), rstd(rows);
        NormCall call;
        call.in = in.data();
        call.out = out.data();
        call.rows = rows;
        call.length = length;
        call.weight = is_weighted ? weight.data() : nullptr;
        call.epsilon = 1e-3f;
        call.rstd = rstd.data();
        rms_norm(call, threads, set);
        for (size_t r = 0; r < rows; ++r) {
          double squares = 0;
          for (size_t i = 0; i < length; ++i) squares += std::pow(in[r * length + i], 2);
          const double scale = 1 / std::sqrt(squares / double(length) + 1e-3f);
          ASSERT_TRUE(is_near(scale, rstd[r], tolerance::kLayer * scale));
          for (size_t i = 0; i < length; ++i) {
            const double y = in[r * length + i] * scale * (is_weighted ? weight[i] : 1);
            ASSERT_TRUE(is_near(y, out[r * length + i], tolerance::kLayer))
                << length << " at " << i;
          }
        }
      });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Norm, GroupNormScalesByChannel) {
  Random random(22);
  for (size_t plane : {1, 3, 16, 49}) {
    const size_t batch = 2, groups = 3, channels = 4, length = channels * plane;
    const Floats in = random.floats(batch * groups * length, -3, 5);
    const Floats weight = random.floats(groups * channels), bias = random.floats(groups * channels);
    on_every_set([&](InstructionSet set, Threads& threads) {
      Floats out(in.size());
      GroupNormCall call;
      call.rows.in = in.data();
      call.rows.out = out.data();
      call.rows.rows = batch * groups;
      call.rows.length = length;
      call.rows.weight = weight.data();
      call.rows.bias = bias.data();
      call.rows.epsilon = 1e-3f;
      call.groups = groups;
      call.channels_per_group = channels;
      call.plane = plane;
      group_norm(call, threads, set);
      for (size_t at = 0; at < out.size(); ++at) {
        const size_t row = at / length, channel = row % groups * channels + at % length / plane;
        double sum = 0, squares = 0;
        for (size_t i = 0; i < length; ++i) sum += in[row * length + i];
        const double center = sum / double(length);
        for (size_t i = 0; i < length; ++i) squares += std::pow(in[row * length + i] - center, 2);
        const double scale = 1 / std::sqrt(squares / double(length) + 1e-3f);
        ASSERT_TRUE(is_near((in[at] - center) * scale * weight[channel] + bias[channel], out[at],
                            tolerance::kNormalized));
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(Norm, ARowWithNaNOrInfinityBecomesNaNAndOthersStay) {
  for (float special : {kNaN, kInfinity, -kInfinity}) {
    for (size_t place = 0; place < 35; ++place) {
      on_every_set([&](InstructionSet set, Threads& threads) {
        Floats values(3 * 35, 1);
        values[35 + place] = special;
        values[0] = 2;
        NormCall call;
        call.in = values.data();
        call.out = values.data();  // in place
        call.rows = 3;
        call.length = 35;
        call.epsilon = 1;
        layer_norm(call, threads, set);
        for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(i / 35 == 1, std::isnan(values[i]));
      });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Softmax, MatchesDoublePrecisionWithGapsBetweenRows) {
  Random random(23);
  for (size_t length : kLengths) {
    const size_t rows = random.size(0, 50), in_stride = length + 3, out_stride = length + 1;
    const Floats in = random.floats(rows * in_stride, -30, 30);
    on_every_set([&](InstructionSet set, Threads& threads) {
      for (bool is_log : {false, true}) {
        Floats out(rows * out_stride, 77);
        const SoftmaxCall call = {in.data(), out.data(), rows, length, in_stride, out_stride};
        (is_log ? log_softmax : softmax)(call, threads, set);
        for (size_t r = 0; r < rows; ++r) {
          double most = -1e30, sum = 0;
          for (size_t i = 0; i < length; ++i) most = std::max<double>(most, in[r * in_stride + i]);
          for (size_t i = 0; i < length; ++i) sum += std::exp(in[r * in_stride + i] - most);
          for (size_t i = 0; i < length; ++i) {
            const double x = in[r * in_stride + i] - most;
            const double expected = is_log ? x - std::log(sum) : std::exp(x) / sum;
            ASSERT_TRUE(is_near(expected, out[r * out_stride + i],
                                is_log ? tolerance::kLayer : tolerance::kElementwise));
          }
          ASSERT_EQ(77, out[r * out_stride + length]) << "a gap was written";
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(Softmax, FollowsIeeeArithmeticAtNaNAndInfinity) {
  const auto row_of = [](float first, float second, InstructionSet set, Threads& threads) {
    Floats values(19, first);
    values[18] = second;
    softmax({values.data(), values.data(), 1, 19, 19, 19}, threads, set);
    return values;
  };
  on_every_set([&](InstructionSet set, Threads& threads) {
    for (float x : row_of(0, kNaN, set, threads)) ASSERT_TRUE(std::isnan(x));
    for (float x : row_of(0, kInfinity, set, threads)) ASSERT_TRUE(std::isnan(x));
    for (float x : row_of(-kInfinity, -kInfinity, set, threads)) ASSERT_TRUE(std::isnan(x));
    const Floats masked = row_of(-kInfinity, 3, set, threads);
    for (size_t i = 0; i < 18; ++i) ASSERT_EQ(0, masked[i]);
    ASSERT_EQ(1, masked[18]);
  });
}

}  // namespace
