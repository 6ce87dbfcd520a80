// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elementary functions of float32 without branches and calls: a compiler makes vectors of loops
// over them. V is float, or a vector of floats; I is int32_t, or the same number. Errors are within
// 6 units in the last place, or below 2e-7 where that is more (gelu, lgamma: 2e-6); NaN stays NaN.
// Coefficients are minimax fits made for this file, each with an error below 2e-8.
#pragma once

#include <cstdint>
#include <cstring>

#define ET_VECTOR_INLINE inline __attribute__((always_inline))

namespace executorch::kernels {
namespace {  // Compiled for several instruction sets: the linker must not merge the copies.

template <class To, class From>
ET_VECTOR_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "one size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <class V>
ET_VECTOR_INLINE V all(float value) {
  return V{} + value;
}

/// c0 + c1 x + c2 x² …
template <class V>
ET_VECTOR_INLINE V polynomial(V, float c) {
  return all<V>(c);
}
template <class V, class... C>
ET_VECTOR_INLINE V polynomial(V x, float c, C... rest) {
  return polynomial(x, rest...) * x + c;
}

template <class V, class I>
ET_VECTOR_INLINE V float_abs(V x) {
  return bits_as<V>(bits_as<I>(x) & 0x7FFFFFFF);
}
/// The magnitude with the sign of another number.
template <class V, class I>
ET_VECTOR_INLINE V float_sign(V magnitude, V sign) {
  return bits_as<V>(bits_as<I>(magnitude) | (bits_as<I>(sign) & INT32_MIN));
}

/// The unsigned integers of an I: they wrap where a number is outside of a formula's domain.
template <class I>
struct Unsigned {
  typedef uint32_t Type __attribute__((vector_size(sizeof(I))));
};
template <>
struct Unsigned<int32_t> {
  using Type = uint32_t;
};
template <class I>
using UnsignedOf = typename Unsigned<I>::Type;

inline constexpr float kRoundUp = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which
inline constexpr int32_t kRoundUpBits = 0x4B400000;  // stands in the low bits.

/// 2^n of n + kRoundUp, for -126 <= n <= 127.
template <class V, class I>
ET_VECTOR_INLINE V float_power2(V shifted) {
  const uint32_t kBias = 127;
  return bits_as<V>((bits_as<UnsignedOf<I>>(shifted) - kRoundUpBits + kBias) << 23);
}
inline constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
inline constexpr float kLog2E = 1.44269504088896341f, kLog10E = 0.43429448190325182765f;
inline constexpr float kHalfPi = 1.57079632679489662f;

/// The magnitude a rounded to the nearest integer, ties to even.
template <class V>
ET_VECTOR_INLINE V nearest_integer(V a) {
  const float kLargest = 8388608.0f;  // 2^23
  const V shift = a < kLargest ? all<V>(kLargest) : all<V>(0.0f);
  return (a + shift) - shift;
}
/// 1 where x > y, else 0.
template <class V>
ET_VECTOR_INLINE V excess(V x, V y) {
  return x > y ? all<V>(1.0f) : all<V>(0.0f);
}
template <class V, class I>
ET_VECTOR_INLINE V float_round(V x) {
  return float_sign<V, I>(nearest_integer(float_abs<V, I>(x)), x);
}
template <class V, class I>
ET_VECTOR_INLINE V float_trunc(V x) {
  const V a = float_abs<V, I>(x), whole = nearest_integer(a);
  return float_sign<V, I>(whole - excess(whole, a), x);
}
template <class V, class I>
ET_VECTOR_INLINE V float_floor(V x) {
  const V whole = float_round<V, I>(x);
  return whole - excess(whole, x);
}
template <class V, class I>
ET_VECTOR_INLINE V float_ceil(V x) {
  const V whole = float_round<V, I>(x);
  return float_sign<V, I>(whole + excess(x, whole), x);  // -0 where it was lost
}
template <class V, class I>
ET_VECTOR_INLINE V float_frac(V x) {
  return x - float_trunc<V, I>(x);
}

/// (exp(r) - 1 - r) / r² for |r| <= ln(2) / 2.
template <class V>
ET_VECTOR_INLINE V exp_tail(V r) {
  return polynomial(r, 0.4999999702f, 0.1666654348f, 0.04166720062f, 8.366518654e-3f,
                    1.388252131e-3f);
}

/// exp(x) = 2^n * exp(r) for x <= 88, n the integer nearest to x / ln(2); 0 where it is subnormal.
template <class V, class I>
ET_VECTOR_INLINE V float_exp(V x) {
  const V shifted = x * kLog2E + kRoundUp, n = shifted - kRoundUp;
  const V r = (x - n * kLn2High) - n * kLn2Low;
  const V p = (r * r * exp_tail(r) + r) + 1.0f;
  const V result = p * float_power2<V, I>(shifted);
  return x < -87.0f ? all<V>(0.0f) : result;
}
/// For x <= 127; 0 where it is subnormal.
template <class V, class I>
ET_VECTOR_INLINE V float_exp2(V x) {
  const V shifted = x + kRoundUp;
  const V r = (x - (shifted - kRoundUp)) * 0.69314718055994531f;
  const V p = (r * r * exp_tail(r) + r) + 1.0f;
  const V result = p * float_power2<V, I>(shifted);
  return x < -126.0f ? all<V>(0.0f) : result;
}

/// exp(x) - 1 for x < 88: 2^n (exp(r) - 1) + (2^n - 1).
template <class V, class I>
ET_VECTOR_INLINE V float_expm1(V x) {
  const V low = x < -20.0f ? all<V>(-20.0f) : x;
  const V shifted = low * kLog2E + kRoundUp, n = shifted - kRoundUp;
  const V r = (low - n * kLn2High) - n * kLn2Low;
  const V scale = float_power2<V, I>(shifted);
  const V p = r * r * exp_tail(r) + r;
  const V result = scale * p + (scale - 1.0f);
  return x == 0.0f ? x : result;  // the sign of zero
}

/// A normal positive number as m * 2^e, 2^-1/2 <= m < 2^1/2; gives m - 1.
template <class V, class I>
ET_VECTOR_INLINE V split_power(V x, V& e) {
  const uint32_t kRootHalf = 0x3F3504F3;
  const I above = bits_as<I>(bits_as<UnsignedOf<I>>(x) - kRootHalf);
  // The inverse of the same trick converts integers to floats.
  e = bits_as<V>((above >> 23) + kRoundUpBits) - kRoundUp;
  return bits_as<V>((above & 0x007FFFFF) + 0x3F3504F3) - 1.0f;
}

/// log(1 + f) - f for the f of split_power().
template <class V>
ET_VECTOR_INLINE V log_tail(V f) {
  const V p = polynomial(f, 0.3333331645f, -0.2500081062f, 0.2000228018f, -0.1662452221f,
                         0.1418130547f, -0.1312922388f, 0.1288098693f, -0.07857376337f);
  return f * f * (f * p - 0.5f);
}

/// Logarithms are for normal positive numbers.
template <class V, class I>
ET_VECTOR_INLINE V float_log(V x) {
  V e;
  const V f = split_power<V, I>(x, e);
  return (log_tail(f) + e * kLn2Low) + f + e * kLn2High;
}
template <class V, class I>
ET_VECTOR_INLINE V float_log2(V x) {
  V e;
  const V f = split_power<V, I>(x, e);
  const float kRest = kLog2E - 1.0f;
  const V tail = log_tail(f);
  return ((tail * kRest + f * kRest) + tail) + f + e;
}
template <class V, class I>
ET_VECTOR_INLINE V float_log10(V x) {
  V e;
  const V f = split_power<V, I>(x, e);
  return (log_tail(f) * kLog10E + e * 4.605039e-6f) + f * kLog10E + e * 0.301025391f;
}
/// log(1 + x) for -1 < x < 1e30.
template <class V, class I>
ET_VECTOR_INLINE V float_log1p(V x) {
  const V u = 1.0f + x;
  V e;
  const V f = split_power<V, I>(u, e);
  // The rounding error of the sum, to first order.
  const V lost = (u < 2.0f ? x - (u - 1.0f) : 1.0f - (u - x)) / u;
  const V result = ((log_tail(f) + e * kLn2Low) + lost) + f + e * kLn2High;
  return x == 0.0f ? x : result;
}

/// log(1 + exp(x)).
template <class V, class I>
ET_VECTOR_INLINE V float_softplus(V x) {
  const V u = float_exp<V, I>(-float_abs<V, I>(x));
  // log(1 + u) for u in [0, 1]: what lies above sqrt(2) is halved.
  const V f = u > 0.41421356f ? 0.5f * (u - 1.0f) : u;
  const V shift = u > 0.41421356f ? all<V>(0.693147181f) : all<V>(0.0f);
  return (x > 0.0f ? x : all<V>(0.0f)) + ((log_tail(f) + f) + shift);
}

/// For x >= -88.
template <class V, class I>
ET_VECTOR_INLINE V float_sigmoid(V x) {
  return 1.0f / (1.0f + float_exp<V, I>(-x));
}
/// A function that approaches 1 and -1: `near` is its approximation, `is_one` where it rounds to 1.
/// Near there rounding takes the approximation beyond 1, where log(1 - y²) and acos(y) are NaN.
template <class V, class I, class Mask>
ET_VECTOR_INLINE V within_one(V x, V near, Mask is_one) {
  return is_one | (float_abs<V, I>(near) > 1.0f) ? float_sign<V, I>(all<V>(1.0f), x) : near;
}

/// x P(x²) / Q(x²); from 9 on it is 1.
template <class V, class I>
ET_VECTOR_INLINE V float_tanh(V x) {
  const V s = x * x;
  const V result = x *
                   polynomial(s, 1.0f, 0.1308315992f, 3.103004536e-3f, 1.114428869e-5f,
                              -2.018410150e-8f, 5.257842772e-11f, -8.436204887e-14f) /
                   polynomial(s, 1.0f, 0.4641648531f, 0.02449139394f, 2.544755698e-4f);
  return within_one<V, I>(x, result, float_abs<V, I>(x) >= 9.0f);
}
/// For |x| < 88.
template <class V, class I>
ET_VECTOR_INLINE V float_sinh(V x) {
  const V t = float_expm1<V, I>(float_abs<V, I>(x));
  return float_sign<V, I>(0.5f * (t + t / (t + 1.0f)), x);
}
template <class V, class I>
ET_VECTOR_INLINE V float_cosh(V x) {
  const V e = float_exp<V, I>(float_abs<V, I>(x));
  return 0.5f * e + 0.5f / e;
}

/// Sine and cosine of r in [-pi/4, pi/4].
template <class V>
ET_VECTOR_INLINE V sine_part(V r) {
  const V s = r * r;
  return r * s * polynomial(s, -0.1666665524f, 8.332154714e-3f, -1.951408485e-4f) + r;
}
template <class V>
ET_VECTOR_INLINE V cosine_part(V r) {
  const V s = r * r;
  return s * s * polynomial(s, 0.04166664556f, -1.388733741e-3f, 2.443484664e-5f) - 0.5f * s + 1.0f;
}
/// x = quadrant * pi/2 + r for |x| <= 8192, pi/2 in parts whose products are exact.
template <class V, class I>
ET_VECTOR_INLINE V quarter_turns(V x, I& quadrant) {
  const V shifted = x * 0.63661977236758134f + kRoundUp, n = shifted - kRoundUp;
  quadrant = bits_as<I>(shifted);
  return ((x - n * 1.5703125f) - n * 4.837512969970703e-4f) - n * 7.549789948768648e-8f;
}
template <class V, class I>
ET_VECTOR_INLINE V of_quadrant(V r, I quadrant) {
  const V s = sine_part(r), c = cosine_part(r);
  const V value = (quadrant & 1) != 0 ? c : s;
  return bits_as<V>(bits_as<I>(value) ^ ((quadrant & 2) << 30));
}
template <class V, class I>
ET_VECTOR_INLINE V float_sin(V x) {
  I quadrant;
  const V r = quarter_turns<V, I>(x, quadrant);
  const V result = of_quadrant<V, I>(r, quadrant);
  return x == 0.0f ? x : result;
}
template <class V, class I>
ET_VECTOR_INLINE V float_cos(V x) {
  I quadrant;
  const V r = quarter_turns<V, I>(x, quadrant);
  return of_quadrant<V, I>(r, quadrant + 1);
}
template <class V, class I>
ET_VECTOR_INLINE V float_tan(V x) {
  I quadrant;
  const V r = quarter_turns<V, I>(x, quadrant);
  const V s = sine_part(r), c = cosine_part(r);
  const V result = (quadrant & 1) != 0 ? -c / s : s / c;
  return x == 0.0f ? x : result;
}
/// The angle whose tangent is z in [0, 1].
template <class V>
ET_VECTOR_INLINE V atan_part(V z) {
  const V s = z * z;
  const V p =
      polynomial(s, -0.333333015f, 0.1999863833f, -0.142652452f, 0.1095757633f, -0.08419458568f,
                 0.05823454261f, -0.0314556919f, 0.01106443536f, -1.827211585e-3f);
  return z * s * p + z;
}
template <class V, class I>
ET_VECTOR_INLINE V float_atan(V x) {
  const V a = float_abs<V, I>(x);
  const V r = atan_part(a > 1.0f ? 1.0f / a : a);
  return float_sign<V, I>(a > 1.0f ? kHalfPi - r : r, x);
}
/// For finite y and x that are not both zero.
template <class V, class I>
ET_VECTOR_INLINE V float_atan2(V y, V x) {
  const V a = float_abs<V, I>(y), b = float_abs<V, I>(x);
  const V least = a < b ? a : b, most = a < b ? b : a;
  const V part = atan_part(least / most);
  const V r = a > b ? kHalfPi - part : part;
  return float_sign<V, I>(x < 0.0f ? 2 * kHalfPi - r : r, y);
}

ET_VECTOR_INLINE float root(float x) { return __builtin_sqrtf(x); }

/// asin(z), where |x| is z, or above 1/2 1 - 2 z²: there asin(|x|) is pi/2 - 2 asin(z).
template <class V>
ET_VECTOR_INLINE V asin_part(V a) {
  const V s = a > 0.5f ? 0.5f * (1.0f - a) : a * a;
  const V z = a > 0.5f ? root(s) : a;
  return z * s *
             polynomial(s, 0.1666675393f, 0.07495241724f, 0.04547710502f, 0.02414756849f,
                        0.04221862557f) +
         z;
}
/// For |x| <= 1.
template <class V, class I>
ET_VECTOR_INLINE V float_asin(V x) {
  const V a = float_abs<V, I>(x), r = asin_part(a);
  return float_sign<V, I>(a > 0.5f ? kHalfPi - (r + r) : r, x);
}
template <class V, class I>
ET_VECTOR_INLINE V float_acos(V x) {
  const V a = float_abs<V, I>(x), r = asin_part(a), twice = r + r;
  const V outer = x < 0.0f ? 2 * kHalfPi - twice : twice;
  return a > 0.5f ? outer : kHalfPi - float_sign<V, I>(r, x);
}
/// For |x| < 1.
template <class V, class I>
ET_VECTOR_INLINE V float_atanh(V x) {
  const V a = float_abs<V, I>(x);
  return float_sign<V, I>(0.5f * float_log1p<V, I>((a + a) / (1.0f - a)), x);
}
/// For |x| < 1e18.
template <class V, class I>
ET_VECTOR_INLINE V float_asinh(V x) {
  const V a = float_abs<V, I>(x), s = a * a;
  return float_sign<V, I>(float_log1p<V, I>(a + s / (1.0f + root(s + 1.0f))), x);
}
/// For 1 <= x < 1e18.
template <class V, class I>
ET_VECTOR_INLINE V float_acosh(V x) {
  const V t = x - 1.0f;
  return float_log1p<V, I>(t + root(t * (x + 1.0f)));
}

/// x P(x²) / Q(x²); from 3.92 on it is 1.
template <class V, class I>
ET_VECTOR_INLINE V float_erf(V x) {
  const V s = x * x;
  const V result = x *
                   polynomial(s, 1.128379107f, 0.1915511191f, 0.05287555233f, 3.808194539e-3f,
                              2.846881689e-4f, 2.025898311e-6f) /
                   polynomial(s, 1.0f, 0.5030904412f, 0.1145599559f, 0.01505515724f,
                              1.170733129e-3f, 3.783171996e-5f);
  return within_one<V, I>(x, result, float_abs<V, I>(x) >= 3.92f);
}

/// exp(-x²) t P(t), t = 1 / (1 + |x| / 2); 0 where it is subnormal, from x = 9 on.
template <class V, class I>
ET_VECTOR_INLINE V float_erfc(V x) {
  const V size = float_abs<V, I>(x), a = size > 10.0f ? all<V>(10.0f) : size;
  const V t = 1.0f / (1.0f + 0.5f * a), s = a * a;
  const V p =
      t * polynomial(t, 0.2820876774f, 0.2823534663f, 0.2432611421f, 0.2020692814f, -0.02517632615f,
                     0.2759761005f, -0.4853818264f, 0.2837010121f, -0.05889056942f);
  // Correct the rounding error of the square, which exp would amplify to many units.
  const V high = bits_as<V>(bits_as<I>(a) & -4096), low = a - high;
  const V lost = ((high * high - s) + 2.0f * high * low) + low * low;
  const V tail = float_exp<V, I>(-s) * (p - p * lost);
  return x < 0.0f ? 2.0f - tail : tail;
}
/// x P(w), w = -log(1 - x²), for |x| < 1; beyond w = 5 with P of its root.
template <class V, class I>
ET_VECTOR_INLINE V float_erfinv(V x) {
  const V w = -float_log<V, I>((1.0f - x) * (1.0f + x));
  const V middle = polynomial(w - 2.5f, 1.501409422f, 0.2466407235f, -4.177710178e-3f,
                              -1.253703147e-3f, 2.186050937e-4f, -4.398487335e-6f, -3.529846817e-6f,
                              3.439112863e-7f, 2.863342835e-8f);
  const V tail = polynomial(root(w > 5.0f ? w : all<V>(5.0f)) - 3.0f, 2.832976919f, 1.001674039f,
                            9.438745277e-3f, -7.621879928e-3f, 5.740832219e-3f, -3.674699166e-3f,
                            1.345946889e-3f, 1.016187256e-4f, -1.97734207e-4f);
  return x * (w > 5.0f ? tail : middle);
}

/// The logarithm of gamma for normal positive x < 1e36. From 4.5 on it is Stirling's series; a
/// smaller x becomes t = x - k in [-1/2, 1/2], k from 0 to 4, by gamma(x + 1) = x gamma(x), and
/// log(gamma(2 + t)) = t P(t).
template <class V, class I>
ET_VECTOR_INLINE V positive_lgamma(V x) {
  const V k = (excess(x, all<V>(0.5f)) + excess(x, all<V>(1.5f))) +
              (excess(x, all<V>(2.5f)) + excess(x, all<V>(3.5f)));
  const V t = x - k, last = k > 3.0f ? x - 2.0f : all<V>(1.0f);
  const V below = k < 1.0f ? x * (x + 1.0f) : x,
          above = k > 2.0f ? (x - 1.0f) * last : all<V>(1.0f);
  const auto is_large = x > 4.5f;
  const V logarithm = float_log<V, I>(is_large ? x : k < 2.0f ? below : above);
  const V middle = t * polynomial(t, 0.4227843349f, 0.3224670179f, -0.06735226824f, 0.02058163072f,
                                  -0.00738643891f, 0.002878826245f, -0.00118416552f,
                                  0.0005703485239f, -0.000257206251f);
  const V inverse = 1.0f / x;
  const V tail =
      inverse * polynomial(inverse * inverse, 0.08333333141f, -0.002777048507f, 0.0007529400753f);
  const V large = (x - 0.5f) * (logarithm - 1.0f) + (tail + 0.418938533f);
  return is_large ? large : k < 2.0f ? middle - logarithm : middle + logarithm;
}
/// Also for -8192 < x < -1e-6, not integers, by gamma(x) gamma(-x) = -pi / (x sin(pi x)).
template <class V, class I>
ET_VECTOR_INLINE V float_lgamma(V x) {
  const V a = float_abs<V, I>(x), positive = positive_lgamma<V, I>(a);
  const V f = float_abs<V, I>(a - nearest_integer(a));
  const V sine = f * polynomial(f * f, 3.141592654f, -5.167712762f, 2.55016324f, -0.5992513302f,
                                0.0820464791f, -0.007022163706f);
  const V reflected = (1.14472989f - float_log<V, I>(a * sine)) - positive;
  return x < 0.0f ? reflected : positive;
}

/// x * Phi(x), Phi the normal distribution's cumulative function.
template <class V, class I>
ET_VECTOR_INLINE V float_gelu(V x) {
  return 0.5f * x * (1.0f + float_erf<V, I>(x * 0.70710678118654752f));
}
template <class V, class I>
ET_VECTOR_INLINE V float_gelu_tanh(V x) {
  return 0.5f * x * (1.0f + float_tanh<V, I>(0.79788456080286536f * (x + 0.044715f * x * x * x)));
}
/// For x >= -88.
template <class V, class I>
ET_VECTOR_INLINE V float_silu(V x) {
  return x / (1.0f + float_exp<V, I>(-x));
}
/// The same for every x. Below -88, where the sigmoid is subnormal, it is x * 0.
template <class V, class I>
ET_VECTOR_INLINE V float_silu_anywhere(V x) {
  const V sigmoid = float_sigmoid<V, I>(x < -88.0f ? all<V>(-88.0f) : x);
  return x * (x < -88.0f ? all<V>(0.0f) : sigmoid);
}
/// x * tanh(log(1 + exp(x))): with e = exp(x), tanh is e (e + 2) / (e (e + 2) + 2).
template <class V, class I>
ET_VECTOR_INLINE V float_mish(V x) {
  const V e = float_exp<V, I>(x > 40.0f ? all<V>(40.0f) : x);
  const V n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

}  // namespace
}  // namespace executorch::kernels
