// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/recurrent/layers.h>

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/portable/gemm/matrix.h>
#include <executorch/kernels/portable/recurrent/direction.h>
#include <executorch/kernels/portable/recurrent/thread_team.h>
#include <executorch/runtime/kernel/parallel.h>

#include <algorithm>

namespace executorch::kernels {
namespace {

// Rows of the inputs' product that are computed together: enough to prepare the weights for, and
// few enough that their gates are in cache when their steps come.
constexpr int64_t kRowsTogether = 256;
// Multiplications of one step that make up for waiting for a thread in each.
constexpr size_t kMinStepWork = 3 << 15;

int64_t gates_of(Recurrence kind) {
  return kind == Recurrence::Lstm ? 4 : kind == Recurrence::Gru ? 3 : 1;
}

/// The sizes that all layers share.
struct Sizes {
  int64_t steps, batch, features;
  int64_t layers, directions;
  int64_t gates, hidden, state;  ///< `state` differs from `hidden` if there is a projection
  bool projected;
  int64_t parameters;  ///< of a layer and direction

  int64_t rows() const { return gates * hidden; }
};

bool expect_sizes(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                  const Tensor& input, std::initializer_list<int64_t> sizes) {
  const Shape expected(ArrayRef<int64_t>(sizes.begin(), sizes.size()));
  return expect_same_dtype(ctx, name, tensor, "input", input) &&
         ET_EXPECT(ctx, Shape(tensor) == expected, "%s must be of sizes %s, found %s", name,
                   ShapeText(expected).text, ShapeText(tensor).text);
}

bool expect_parameters(KernelRuntimeContext& ctx, const RecurrentLayers& arguments,
                       const Sizes& s) {
  const Tensor& input = arguments.input;
  for (int64_t i = 0; i < s.layers * s.directions; ++i) {
    const Tensor* const parameters = arguments.parameters.data() + i * s.parameters;
    const int64_t features = i < s.directions ? s.features : s.directions * s.state;
    if (!expect_sizes(ctx, "weights of the input", parameters[0], input, {s.rows(), features}) ||
        !expect_sizes(ctx, "weights of the hidden state", parameters[1], input,
                      {s.rows(), s.state})) {
      return false;
    }
    for (int64_t b = 2; arguments.has_biases && b < 4; ++b) {
      if (!expect_sizes(ctx, "a bias", parameters[b], input, {s.rows()})) return false;
    }
    if (s.projected && !expect_sizes(ctx, "weights of the projection", parameters[s.parameters - 1],
                                     input, {s.state, s.hidden})) {
      return false;
    }
  }
  return true;
}

bool expect_arguments(KernelRuntimeContext& ctx, const RecurrentLayers& a, Sizes* sizes) {
  const size_t states = a.kind == Recurrence::Lstm ? 2 : 1;
  if (!ET_EXPECT(ctx, is_floating(a.input.scalar_type()), "input must be floating, found %s",
                 name_of(a.input.scalar_type())) ||
      !ET_EXPECT(ctx, a.input.dim() == 3, "input must have 3 dimensions, found sizes %s",
                 ShapeText(a.input).text) ||
      !ET_EXPECT(ctx, a.states.size() == states, "expected %zu initial states, found %zu", states,
                 a.states.size())) {
    return false;
  }
  for (const Tensor& state : a.states) {
    if (!ET_EXPECT(ctx, state.dim() == 3, "states must have 3 dimensions, found sizes %s",
                   ShapeText(state).text)) {
      return false;
    }
  }
  Sizes& s = *sizes;
  s.steps = a.input.size(a.batch_first ? 1 : 0);
  s.batch = a.input.size(a.batch_first ? 0 : 1);
  s.features = a.input.size(2);
  s.directions = a.bidirectional ? 2 : 1;
  s.gates = gates_of(a.kind);
  s.state = a.states[0].size(2);
  s.hidden = a.states[states - 1].size(2);
  s.projected = s.state != s.hidden;
  s.parameters = 2 + (a.has_biases ? 2 : 0) + (s.projected ? 1 : 0);
  s.layers = a.layers;
  if (!ET_EXPECT(ctx, s.state > 0 || s.hidden == 0,
                 "a projection must have a size above 0, found %" PRId64, s.state)) {
    return false;
  }
  const int64_t layer_parameters = s.directions * s.parameters,
                parameters = int64_t(a.parameters.size());
  if (!ET_EXPECT(ctx,
                 a.layers > 0 && parameters % layer_parameters == 0 &&
                     parameters / layer_parameters == a.layers,
                 "%" PRId64 " layers must have %" PRId64 " parameters each, found %" PRId64
                 " in all",
                 a.layers, layer_parameters, parameters)) {
    return false;
  }
  const int64_t stack = s.layers * s.directions;
  for (size_t i = 0; i < states; ++i) {
    const int64_t size = i == 0 ? s.state : s.hidden;
    if (!expect_sizes(ctx, "an initial state", a.states[i], a.input, {stack, s.batch, size})) {
      return false;
    }
  }
  return expect_parameters(ctx, a, s);
}

bool resize_results(KernelRuntimeContext& ctx, const RecurrentLayers& a, const Sizes& s,
                    Tensor& out, Tensor* const* finals) {
  Shape shape(a.input);
  shape.sizes[2] = s.directions * s.state;
  if (!expect_same_dtype(ctx, "out", out, "input", a.input) || !resize(ctx, out, shape)) {
    return false;
  }
  for (size_t i = 0; i < a.states.size(); ++i) {
    if (!expect_same_dtype(ctx, "a final state", *finals[i], "input", a.input) ||
        !resize_like(ctx, *finals[i], a.states[i])) {
      return false;
    }
  }
  return true;
}

/// Views a tensor as sequences.
SequenceView sequences_of(const Tensor& tensor, bool batch_first) {
  const Strided memory(tensor);
  const int steps = batch_first ? 1 : 0;
  return {memory.data,
          memory.dtype,
          memory.sizes[steps],
          memory.strides[steps],
          memory.strides[1 - steps],
          memory.strides[2]};
}

/// The features from `first` on.
SequenceView part_of(SequenceView view, int64_t first, bool reversed) {
  view.data += first * view.feature_stride;
  view.reversed = reversed;
  return view;
}

template <class T>
class Stack {
 public:
  Stack(KernelRuntimeContext& ctx, const RecurrentLoops& loops, const RecurrentLayers& arguments,
        const Sizes& sizes)
      : ctx_(ctx),
        loops_(loops),
        a_(arguments),
        s_(sizes),
        together_(std::clamp<int64_t>(kRowsTogether / std::max<int64_t>(s_.batch, 1), 1,
                                      std::max<int64_t>(s_.steps, 1))) {}

  void run(Tensor& out, Tensor* const* finals) {
    const int64_t between = s_.directions * s_.state;
    const int64_t widest = s_.layers > 1 ? std::max(s_.features, between) : s_.features;
    Gemm<T> gemm(ctx_, tile_of<T>(plain_gemm_tiles()), together_ * s_.batch, s_.rows(), widest);
    if (!allocate_all()) return;
    SequenceView from = sequences_of(a_.input, a_.batch_first);
    for (int64_t layer = 0; layer < s_.layers; ++layer) {
      const SequenceView to =
          layer + 1 < s_.layers ? between_layers(layer) : sequences_of(out, a_.batch_first);
      if (!prepare(layer)) return;
      for (int64_t first = 0; first < s_.steps; first += together_) {
        const int64_t steps = std::min(together_, s_.steps - first);
        multiply_inputs(gemm, from, layer == 0 ? s_.features : between, first, steps);
        run_steps(to, first, steps);
      }
      for (int64_t d = 0; d < s_.directions; ++d) {
        directions_[d].give_states(layer * s_.directions + d, finals);
      }
      from = to;
    }
  }

 private:
  bool allocate_all() {
    for (int64_t d = 0; d < s_.directions; ++d) {
      const DirectionSizes sizes = {s_.batch,
                                    s_.gates,
                                    s_.hidden,
                                    s_.state,
                                    s_.projected,
                                    together_,
                                    a_.kind == Recurrence::Lstm,
                                    a_.kind == Recurrence::Gru};
      if (!directions_[d].allocate(ctx_, sizes)) return false;
    }
    for (int64_t i = 0; i < std::min<int64_t>(s_.layers - 1, 2); ++i) {
      between_[i] = kernels::allocate<T>(ctx_, s_.steps * s_.batch * s_.directions * s_.state);
      if (between_[i] == nullptr) return false;
    }
    return true;
  }

  SequenceView between_layers(int64_t layer) const {
    const int64_t row = s_.directions * s_.state * int64_t(sizeof(T));
    return {reinterpret_cast<char*>(between_[layer % 2]),
            dtype_of(compute_type<T>),
            s_.steps,
            row * s_.batch,
            row,
            sizeof(T)};
  }

  bool prepare(int64_t layer) {
    for (int64_t d = 0; d < s_.directions; ++d) {
      const int64_t index = layer * s_.directions + d;
      const Tensor* const tensors = a_.parameters.data() + index * s_.parameters;
      const DirectionParameters parameters = {tensors[0], tensors[1],
                                              a_.has_biases ? tensors + 2 : nullptr,
                                              s_.projected ? tensors + s_.parameters - 1 : nullptr};
      if (!directions_[d].take(ctx_, parameters)) return false;
      directions_[d].take_states(index, a_.states);
    }
    return true;
  }

  void multiply_inputs(Gemm<T>& gemm, const SequenceView& from, int64_t features, int64_t first,
                       int64_t steps) {
    gemm.shrink(steps * s_.batch, s_.rows(), features);
    for (int64_t d = 0; d < s_.directions; ++d) {
      const SequenceSource<T> rows(part_of(from, 0, d == 1), first, s_.batch);
      directions_[d].multiply_input(gemm, rows);
    }
  }

  /// Runs `steps` steps from `first` on; the inputs' share of their gates has been computed.
  void run_steps(const SequenceView& to, int64_t first, int64_t steps) {
    const RecurrentLoopsOf<T>& loops = loops_.of<T>();
    const size_t work = size_t(s_.batch * s_.rows() * std::max<int64_t>(s_.state, 1));
    const int64_t rows = s_.directions * s_.batch;
    const int64_t parts =
        int64_t(runtime::parallel_parts(work * size_t(s_.directions * steps), kMinWork));
    const auto output = [&](int64_t d) { return part_of(to, d * s_.state, d == 1); };
    const int64_t of_step = int64_t(runtime::parallel_parts(work, kMinStepWork));
    if (parts <= rows || of_step == 1) {
      // Sequences have nothing to do with each other: no thread waits for another.
      const int64_t of_batch =
          std::clamp<int64_t>(parts / s_.directions, 1, std::max<int64_t>(s_.batch, 1));
      const auto run_part = [&](size_t part) {
        const int64_t d = int64_t(part) / of_batch, p = int64_t(part) % of_batch;
        const int64_t begin = s_.batch * p / of_batch, end = s_.batch * (p + 1) / of_batch;
        for (int64_t i = 0; i < steps; ++i) {
          directions_[d].step(loops, i, {begin, end, 0, s_.hidden});
          directions_[d].finish_step(loops, output(d), first, i, begin, end);
        }
      };
      runtime::run_parallel(run_part, size_t(s_.directions * of_batch));
      for (int64_t d = 0; d < s_.directions; ++d) directions_[d].advance(steps);
      return;
    }
    for (int64_t d = 0; d < s_.directions; ++d) {
      Team team(int32_t(steps), int32_t(std::min<int64_t>(of_step, Team::kMaxParts)));
      const auto run_part = [&](int32_t i, int32_t part) {
        const int64_t begin = s_.hidden * part / team.parts();
        const int64_t end = s_.hidden * (part + 1) / team.parts();
        directions_[d].step(loops, i, {0, s_.batch, begin, end});
      };
      const auto finish = [&](int32_t i) {
        directions_[d].finish_step(loops, output(d), first, i, 0, s_.batch);
      };
      runtime::run_parallel([&](size_t own) { team.work(int32_t(own), run_part, finish); },
                            size_t(team.parts()));
      directions_[d].advance(steps);
    }
  }

  KernelRuntimeContext& ctx_;
  const RecurrentLoops& loops_;
  const RecurrentLayers& a_;
  const Sizes& s_;
  int64_t together_;
  Direction<T> directions_[2];
  T* between_[2] = {};
};

}  // namespace

namespace {

/// Several sums along the depth, so that they fill a vector.
template <class T>
void multiply_rows(const RowsProduct<T>& p) {
  constexpr size_t kSums = 8;
  for (size_t c = 0; c < p.columns; ++c) {
    const T* const right = p.right + c * p.right_stride;
    for (size_t r = 0; r < p.rows; ++r) {
      const T* const left = p.left + r * p.left_stride;
      T sums[kSums] = {};
      size_t d = 0;
      for (; d + kSums <= p.depth; d += kSums) {
        for (size_t i = 0; i < kSums; ++i) sums[i] += left[d + i] * right[d + i];
      }
      T sum = 0;
      for (; d < p.depth; ++d) sum += left[d] * right[d];
      for (size_t i = 0; i < kSums; ++i) sum += sums[i];
      p.out[r * p.out_stride + c] = sum;
    }
  }
}

template <class T>
RecurrentLoopsOf<T> plain_loops_of(Recurrence kind) {
  if constexpr (is_computed<T>) {
    static constexpr CellStep<T> kSteps[] = {
        engine::step_units<Recurrence::Lstm, T>, engine::step_units<Recurrence::Gru, T>,
        engine::step_units<Recurrence::Tanh, T>, engine::step_units<Recurrence::Relu, T>};
    return {kSteps[size_t(kind)], multiply_rows<T>};
  } else {
    return {};
  }
}

}  // namespace

RecurrentLoops plain_loops(Recurrence kind) {
  return {plain_loops_of<float>(kind), plain_loops_of<double>(kind)};
}

void run_layers(KernelRuntimeContext& ctx, const RecurrentLoops& loops,
                const RecurrentLayers& arguments, Tensor& out, Tensor* const* finals) {
  Sizes sizes;
  if (!expect_arguments(ctx, arguments, &sizes) ||
      !resize_results(ctx, arguments, sizes, out, finals)) {
    return;
  }
  // Without results there is nothing to compute, for however many steps.
  if (sizes.state == 0 || sizes.batch == 0) return;
  visit_floating(arguments.input.scalar_type(), [&](auto tag) {
    Stack<ET_TYPE_OF(tag)>(ctx, loops, arguments, sizes).run(out, finals);
  });
}

}  // namespace executorch::kernels
