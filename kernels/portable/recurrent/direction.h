// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One direction of a recurrent layer: its weights, its state and its step.
#pragma once

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>
#include <executorch/kernels/portable/gemm/matrix.h>
#include <executorch/kernels/portable/recurrent/loops.h>
#include <executorch/kernels/portable/recurrent/sequence.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace executorch::kernels {

struct DirectionSizes {
  int64_t batch, gates, hidden, state;
  bool projected;
  int64_t steps_together;
  bool has_cells;  ///< a state of the cells beside the hidden one (LSTM)
  bool apart;      ///< the last gate's part of the hidden state is added later (GRU)

  int64_t rows() const { return gates * hidden; }
};

struct DirectionParameters {
  const Tensor& input;
  const Tensor& hidden;
  const Tensor* biases;  ///< of the input, of the hidden state; may be null
  const Tensor* projection;
};

/// Some units of some sequences.
struct UnitBlock {
  int64_t sequence, last_sequence, unit, last_unit;
};

/// Computes in T. Order of calls: allocate(); for each layer take() and take_states(), for each
/// chunk of its steps multiply_input(), then step() and finish_step() for each step, and advance();
/// at the end give_states().
template <class T>
class Direction {
 public:
  /// False after failing the context.
  bool allocate(KernelRuntimeContext& ctx, const DirectionSizes& sizes) {
    s_ = sizes;
    const int64_t units = s_.batch * s_.hidden;
    const auto take = [&](T** memory, int64_t count) {
      if (count == 0) return true;
      constexpr int64_t kSize = sizeof(T);
      size_t room = (count + kLine / kSize) * kSize;
      void* at = kernels::allocate<T>(ctx, count + kLine / kSize);
      if (at == nullptr) return false;
      *memory = static_cast<T*>(std::align(kLine, count * kSize, at, room));
      return true;
    };
    return take(&from_input_, s_.steps_together * s_.batch * s_.rows()) &&
           take(&from_hidden_, s_.batch * s_.rows()) && take(&bias_, s_.rows() + s_.hidden) &&
           take(&hidden_[0], s_.batch * s_.state) && take(&hidden_[1], s_.batch * s_.state) &&
           take(&cells_, s_.has_cells ? units : 0) && take(&unprojected_, s_.projected ? units : 0);
  }

  /// A layer's parameters, which must outlive its steps. False after failing the context.
  bool take(KernelRuntimeContext& ctx, const DirectionParameters& parameters) {
    const Strided weights(parameters.input);
    input_ = {weights.data, weights.dtype, weights.strides[1], weights.strides[0]};
    sum_biases(parameters.biases);
    return rows_of(ctx, parameters.hidden, &recurrent_) &&
           (parameters.projection == nullptr || rows_of(ctx, *parameters.projection, &projection_));
  }

  void take_states(int64_t index, ArrayRef<Tensor> states) {
    now_ = 0;
    copy_rows(states[0], index, [&](char* at, int64_t stride, int64_t b, ScalarType dtype) {
      convert_in(hidden_[0] + b * s_.state, at, stride, s_.state, dtype);
    });
    if (!s_.has_cells) return;
    copy_rows(states[1], index, [&](char* at, int64_t stride, int64_t b, ScalarType dtype) {
      convert_in(cells_ + b * s_.hidden, at, stride, s_.hidden, dtype);
    });
  }

  void give_states(int64_t index, Tensor* const* finals) const {
    copy_rows(*finals[0], index, [&](char* at, int64_t stride, int64_t b, ScalarType dtype) {
      convert_out(at, stride, hidden_[now_] + b * s_.state, s_.state, dtype);
    });
    if (!s_.has_cells) return;
    copy_rows(*finals[1], index, [&](char* at, int64_t stride, int64_t b, ScalarType dtype) {
      convert_out(at, stride, cells_ + b * s_.hidden, s_.hidden, dtype);
    });
  }

  /// Computes the inputs' share of the gates. `gemm` has the sizes of the product.
  void multiply_input(Gemm<T>& gemm, const SequenceSource<T>& rows) {
    constexpr int64_t kSize = sizeof(T);
    const MatrixSource<T> weights(input_);
    MatrixSink<T> sink({bytes(from_input_), kHeld, s_.rows() * kSize, kSize},
                       {bytes(bias_), kHeld, 0, kSize}, T(1), T(1));
    gemm.run(rows, weights, sink);
  }

  /// Step `index` of the chunk, for some units; of one step, several threads may do parts.
  void step(const RecurrentLoopsOf<T>& loops, int64_t index, const UnitBlock& block) {
    const T* const hidden = hidden_[(now_ + index) % 2];
    T* const fresh = s_.projected ? unprojected_ : hidden_[(now_ + index + 1) % 2];
    const int64_t width = s_.projected ? s_.hidden : s_.state, rows = s_.rows();
    const int64_t sequences = block.last_sequence - block.sequence;
    const int64_t units = block.last_unit - block.unit;
    // All gates in one product if all units are wanted.
    const bool whole = units == s_.hidden;
    for (int64_t gate = 0; gate < (whole ? 1 : s_.gates); ++gate) {
      const int64_t first = gate * s_.hidden + block.unit;
      multiply(loops, sequences, whole ? rows : units, s_.state, hidden + block.sequence * s_.state,
               recurrent_, first, from_hidden_ + block.sequence * rows + first, rows,
               index % 2 == 1);
    }
    for (int64_t b = block.sequence; b < block.last_sequence; ++b) {
      const int64_t at = b * s_.hidden + block.unit;
      const T* const old = hidden + b * s_.state + block.unit;
      loops.step(from_input_ + (index * s_.batch + b) * rows + block.unit,
                 from_hidden_ + b * rows + block.unit, size_t(s_.hidden), bias_ + rows + block.unit,
                 s_.has_cells ? cells_ + at : const_cast<T*>(old), fresh + b * width + block.unit,
                 size_t(units));
    }
  }

  /// After all units' part of step `index`, which is step `first + index` of the sequences.
  void finish_step(const RecurrentLoopsOf<T>& loops, const SequenceView& to, int64_t first,
                   int64_t index, int64_t begin, int64_t end) {
    T* const fresh = hidden_[(now_ + index + 1) % 2];
    if (s_.projected) {
      multiply(loops, end - begin, s_.state, s_.hidden, unprojected_ + begin * s_.hidden,
               projection_, 0, fresh + begin * s_.state, s_.state, index % 2 == 1);
    }
    for (int64_t b = begin; b < end; ++b) {
      convert_out(to.at(first + index, b), to.feature_stride, fresh + b * s_.state, s_.state,
                  to.dtype);
    }
  }

  void advance(int64_t steps) { now_ = (now_ + steps) % 2; }

 private:
  static constexpr Compute kCompute = compute_type<T>;
  static constexpr ScalarType kHeld =
      std::is_same_v<T, double> ? ScalarType::Double : ScalarType::Float;

  /// A matrix of T with contiguous rows.
  struct Rows {
    const T* data = nullptr;
    int64_t step = 0;
    T* copy = nullptr;
  };

  static char* bytes(T* values) { return reinterpret_cast<char*>(values); }

  static void convert_in(T* to, const char* from, int64_t stride, int64_t n, ScalarType dtype) {
    load(dtype, kCompute)(bytes(to), sizeof(T), from, stride, n);
  }
  static void convert_out(char* to, int64_t stride, const T* from, int64_t n, ScalarType dtype) {
    store(kCompute, dtype)(to, stride, reinterpret_cast<const char*>(from), sizeof(T), n);
  }

  /// Calls f(address, stride of its elements, sequence, dtype) for each sequence's state.
  template <class F>
  void copy_rows(const Tensor& states, int64_t index, F&& f) const {
    const Strided memory(states);
    for (int64_t b = 0; b < s_.batch; ++b) {
      f(memory.data + index * memory.strides[0] + b * memory.strides[1], memory.strides[2], b,
        memory.dtype);
    }
  }

  /// Adds the biases of both products, except those of the GRU's last gate: the reset gate
  /// multiplies the second one, which stays separate.
  void sum_biases(const Tensor* biases) {
    const int64_t rows = s_.rows(), added = s_.apart ? rows - s_.hidden : rows;
    std::fill_n(bias_, rows + s_.hidden, T(0));
    if (biases == nullptr) return;
    const Strided input(biases[0]), hidden(biases[1]);
    convert_in(bias_, input.data, input.strides[0], rows, input.dtype);
    for (int64_t i = 0; i < rows; ++i) {
      const T value = read<T>(hidden.data + i * hidden.strides[0], hidden.dtype);
      if (i < added) {
        bias_[i] += value;
      } else {
        bias_[rows + i - added] = value;
      }
    }
  }

  /// Sets `rows` to the tensor's memory if it has the right layout, else to a copy.
  static bool rows_of(KernelRuntimeContext& ctx, const Tensor& tensor, Rows* rows) {
    const Strided memory(tensor);
    const int64_t height = memory.sizes[0], width = memory.sizes[1];
    if (memory.dtype == kHeld && memory.strides[1] == sizeof(T)) {
      rows->data = reinterpret_cast<const T*>(memory.data);
      rows->step = memory.strides[0] / int64_t(sizeof(T));
      return true;
    }
    if (rows->copy == nullptr) rows->copy = kernels::allocate<T>(ctx, height * width);
    if (rows->copy == nullptr) return false;
    for (int64_t r = 0; r < height; ++r) {
      convert_in(rows->copy + r * width, memory.data + r * memory.strides[0], memory.strides[1],
                 width, memory.dtype);
    }
    rows->data = rows->copy;
    rows->step = width;
    return true;
  }

  /// c[m, n] = a[m, k] times the rows of `weights` from `first` on, transposed. `backwards`: the
  /// last rows come first. Steps alternate if the weights exceed the cache, so that each begins
  /// with the rows that the step before read last.
  static void multiply(const RecurrentLoopsOf<T>& loops, int64_t m, int64_t n, int64_t k,
                       const T* a, const Rows& weights, int64_t first, T* c, int64_t step,
                       bool backwards) {
    constexpr int64_t kMax = int64_t(RowsProduct<T>::kMaxRows);
    const int64_t few = m <= kMax ? m : kMax - 1;  // the shape that registers hold best
    // For many sequences, a block of weight rows that stays in the level 1 cache.
    const int64_t bytes = m <= kMax ? kTurnedBytes : kCachedBytes;
    const int64_t together =
        std::max<int64_t>(bytes / int64_t(sizeof(T)) / std::max<int64_t>(k, 1), 16);
    const int64_t blocks = (n + together - 1) / together;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t j = (backwards ? blocks - 1 - block : block) * together;
      const T* const rows = weights.data + (first + j) * weights.step;
      for (int64_t i = 0; i < m; i += few) {
        loops.multiply({size_t(std::min(few, m - i)), size_t(std::min(together, n - j)), size_t(k),
                        a + i * k, size_t(k), rows, size_t(weights.step), c + i * step + j,
                        size_t(step)});
      }
    }
  }
  /// Alignment of state vectors in bytes: a load across two cache lines costs as much as two loads.
  static constexpr int64_t kLine = 64;
  static constexpr int64_t kCachedBytes = 16 << 10;
  static constexpr int64_t kTurnedBytes = 64 << 10;

  DirectionSizes s_ = {};
  MatrixView input_;
  Rows recurrent_, projection_;
  T* from_input_ = nullptr;   ///< gates of a chunk of steps, [step, sequence, gate, unit]
  T* from_hidden_ = nullptr;  ///< gates of one step
  T* bias_ = nullptr;
  T* hidden_[2] = {};  ///< in turn, so that threads may write one while others read
  T* cells_ = nullptr;
  T* unprojected_ = nullptr;
  int64_t now_ = 0;  ///< which of `hidden_` holds the state before the chunk
};

}  // namespace executorch::kernels
