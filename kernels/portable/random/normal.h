// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Converts uniform numbers to normal ones, in pairs (Box and Muller, 1958). The log and sin of
// libraries differ in their last bits; these have the same bits everywhere, if nothing is
// contracted to fused multiply-add. Several pairs are computed side by side, so that no series
// waits for another.
#pragma once

#include <executorch/kernels/loops/dtype/types.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace executorch::kernels::portable {

inline constexpr int kPairs = is_bare_metal ? 8 : 32, kNormals = 2 * kPairs;

/// log(x) for 0 < x ≤ 1, by log m = 2 artanh((m - 1) / (m + 1)).
inline void natural_logs(const double* x, double* log) {
  // x = m * 2^exponent with 2^-1/2 <= m < 2^1/2.
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCD, kFraction = (uint64_t{1} << 52) - 1;
  double exponent[kPairs], s[kPairs], square[kPairs], sum[kPairs] = {};
  for (int i = 0; i < kPairs; ++i) {
    uint64_t bits;
    std::memcpy(&bits, x + i, sizeof(bits));
    bits -= kRootHalf;
    exponent[i] = static_cast<int>(static_cast<int64_t>(bits) >> 52);
    bits = (bits & kFraction) + kRootHalf;
    double m;
    std::memcpy(&m, &bits, sizeof(m));
    s[i] = (m - 1) / (m + 1);
    square[i] = s[i] * s[i];
  }
  static constexpr double kTerms[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                      1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  for (const double term : kTerms) {
    for (int i = 0; i < kPairs; ++i) sum[i] = sum[i] * square[i] + term;
  }
  for (int i = 0; i < kPairs; ++i) {
    log[i] = exponent[i] * 0.69314718055994530942 + 2 * s[i] * sum[i];
  }
}

/// Cosine and sine of 2πu, 0 ≤ u < 1: by Taylor's series within an eighth of a turn.
inline void cosine_and_sine(const double* u, double* cosine, double* sine) {
  int quarter[kPairs];
  double x[kPairs], square[kPairs];
  for (int i = 0; i < kPairs; ++i) {
    quarter[i] = static_cast<int>(4 * u[i] + 0.5);
    x[i] = (u[i] - quarter[i] * 0.25) * 6.28318530717958647693;
    square[i] = x[i] * x[i];
    cosine[i] = sine[i] = 1;
  }
  static constexpr double kQuotients[][2] = {
      {1.0 / 240, 1.0 / 272}, {1.0 / 182, 1.0 / 210}, {1.0 / 132, 1.0 / 156}, {1.0 / 90, 1.0 / 110},
      {1.0 / 56, 1.0 / 72},   {1.0 / 30, 1.0 / 42},   {1.0 / 12, 1.0 / 20},   {1.0 / 2, 1.0 / 6}};
  for (const auto& quotient : kQuotients) {
    for (int i = 0; i < kPairs; ++i) {
      cosine[i] = 1 - cosine[i] * (square[i] * quotient[0]);
      sine[i] = 1 - sine[i] * (square[i] * quotient[1]);
    }
  }
  for (int i = 0; i < kPairs; ++i) {
    const double c = cosine[i], s = sine[i] * x[i];
    const bool is_turned = quarter[i] % 2 != 0;
    const double across = is_turned ? s : c, along = is_turned ? c : s;
    cosine[i] = quarter[i] == 1 || quarter[i] == 2 ? -across : across;
    sine[i] = quarter[i] == 2 || quarter[i] == 3 ? -along : along;
  }
}

/// Converts uniform numbers in [0, 1) to as many normal ones.
inline void make_normals(const double* uniform, double* normal) {
  double u[kPairs], angle[kPairs], log[kPairs], cosine[kPairs], sine[kPairs];
  for (int i = 0; i < kPairs; ++i) u[i] = 1 - uniform[2 * i], angle[i] = uniform[2 * i + 1];
  natural_logs(u, log);
  cosine_and_sine(angle, cosine, sine);
  for (int i = 0; i < kPairs; ++i) {
    const double radius = std::sqrt(-2 * log[i]);
    normal[2 * i] = radius * cosine[i], normal[2 * i + 1] = radius * sine[i];
  }
}

}  // namespace executorch::kernels::portable
