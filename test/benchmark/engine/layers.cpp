// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layers of ResNet-50, MobileNetV2 and ViT by the engine, beside the same layers by XNNPACK's
// operators, in turns: processor time of one thread, or wall time of several.
//
//   cmake --build BUILD --target engine_layers
//   BUILD/test/engine_layers [threads] [seconds a layer] [part of a layer's name]
//
// Prints the median time of each, their ratio and the products a second.
#include <executorch/kernels/engine/conv/conv.h>
#include <executorch/kernels/engine/gemm/gemm.h>

#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace executorch::kernels::engine;  // NOLINT: the subject

/// XNNPACK's pool as the engine's threads.
class PoolThreads final : public Threads {
 public:
  explicit PoolThreads(pthreadpool_t pool) : pool_(pool) {}
  size_t count() const override {
    return pool_ == nullptr ? 1 : pthreadpool_get_threads_count(pool_);
  }
  void run(size_t tasks, FunctionRef<void(size_t)> task) override {
    pthreadpool_parallelize_1d(
        pool_,
        [](void* context, size_t i) { (*static_cast<FunctionRef<void(size_t)>*>(context))(i); },
        &task, tasks, 0);
  }

 private:
  pthreadpool_t pool_;
};

struct Layer {
  const char* name;
  Conv2dParams params;
  size_t size;  ///< of the square image; for linear layers the number of rows is size * 1
};

Conv2dParams dense(size_t inputs, size_t outputs, size_t kernel = 1, size_t stride = 1) {
  Conv2dParams p;
  p.group_inputs = inputs;
  p.group_outputs = outputs;
  p.kernel_height = p.kernel_width = kernel;
  p.stride_height = p.stride_width = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = kernel / 2;
  return p;
}

Conv2dParams depthwise_of(size_t channels, size_t kernel, size_t stride = 1) {
  Conv2dParams p = dense(1, 1, kernel, stride);
  p.groups = channels;
  return p;
}

Conv2dParams grouped(size_t groups, size_t channels, size_t kernel, size_t stride = 1) {
  Conv2dParams p = dense(channels, channels, kernel, stride);
  p.groups = groups;
  return p;
}

const Layer kLayers[] = {
    {"resnet first 7x7/2 3-64", dense(3, 64, 7, 2), 224},
    {"resnet 1x1 64-64 @56", dense(64, 64), 56},
    {"resnet 3x3 64-64 @56", dense(64, 64, 3), 56},
    {"resnet 1x1 64-256 @56", dense(64, 256), 56},
    {"resnet 3x3/2 128-128 @56", dense(128, 128, 3, 2), 56},
    {"resnet 1x1 512-128 @28", dense(512, 128), 28},
    {"resnet 3x3 128-128 @28", dense(128, 128, 3), 28},
    {"resnet 1x1/2 512-1024 @28", dense(512, 1024, 1, 2), 28},
    {"resnet 3x3/2 256-256 @28", dense(256, 256, 3, 2), 28},
    {"resnet 3x3 256-256 @14", dense(256, 256, 3), 14},
    {"resnet 1x1 1024-256 @14", dense(1024, 256), 14},
    {"resnet 3x3/2 512-512 @14", dense(512, 512, 3, 2), 14},
    {"resnet 3x3 512-512 @7", dense(512, 512, 3), 7},
    {"resnet 1x1 2048-512 @7", dense(2048, 512), 7},
    {"mobilenet first 3x3/2 3-32", dense(3, 32, 3, 2), 224},
    {"mobilenet 1x1 32-16 @112", dense(32, 16), 112},
    {"mobilenet 1x1 16-96 @112", dense(16, 96), 112},
    {"mobilenet 1x1 96-24 @56", dense(96, 24), 56},
    {"mobilenet 1x1 24-144 @56", dense(24, 144), 56},
    {"mobilenet 1x1 192-32 @28", dense(192, 32), 28},
    {"mobilenet 1x1 384-64 @14", dense(384, 64), 14},
    {"mobilenet 1x1 576-96 @14", dense(576, 96), 14},
    {"mobilenet 1x1 960-160 @7", dense(960, 160), 7},
    {"mobilenet 1x1 320-1280 @7", dense(320, 1280), 7},
    {"mobilenet dw3 32 @112", depthwise_of(32, 3), 112},
    {"mobilenet dw3/2 96 @112", depthwise_of(96, 3, 2), 112},
    {"mobilenet dw3 144 @56", depthwise_of(144, 3), 56},
    {"mobilenet dw3 192 @28", depthwise_of(192, 3), 28},
    {"mobilenet dw3 384 @14", depthwise_of(384, 3), 14},
    {"mobilenet dw3 960 @7", depthwise_of(960, 3), 7},
    {"efficientnet dw5 240 @28", depthwise_of(240, 5), 28},
    {"efficientnet dw5/2 672 @14", depthwise_of(672, 5, 2), 14},
    {"convnext dw7 96 @56", depthwise_of(96, 7), 56},
    {"groups of 4, 3x3 128 @56", grouped(32, 4, 3), 56},
    {"groups of 8, 3x3 256 @28", grouped(32, 8, 3), 28},
    {"groups of 8, 3x3 56 @56", grouped(7, 8, 3), 56},
    {"groups of 16, 3x3/2 320 @28", grouped(20, 16, 3, 2), 28},
    {"groups of 16, 3x3 512 @14", grouped(32, 16, 3), 14},
    {"vit linear 197 x 192-576", dense(192, 576), 14},
    {"vit linear 197 x 768-192", dense(768, 192), 14},
    {"decoder linear 1 x 768-3072", dense(768, 3072), 1},
};

double now(bool of_processor) {
  timespec time = {};
  clock_gettime(of_processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

std::vector<float> numbers(size_t count) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> of(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = of(engine);
  return values;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
std::unique_ptr<void, Free> aligned(size_t bytes) {
  return std::unique_ptr<void, Free>(std::aligned_alloc(64, (bytes / 64 + 1) * 64));
}

void require(xnn_status status, const char* what) {
  if (status == xnn_status_success) return;
  std::fprintf(stderr, "%s: XNNPACK's status is %d\n", what, int(status));
  std::exit(1);
}

/// The flag by which our build of XNNPACK computes a convolution by Winograd's algorithm; others
/// ignore it.
constexpr uint32_t kWinogradFlag = 0x40000000;

class Theirs {
 public:
  Theirs(const Layer& layer, bool winograd, const float* weights, const float* bias,
         const float* input, float* output, pthreadpool_t pool)
      : pool_(pool) {
    const Conv2dParams& p = layer.params;
    const size_t inputs = p.groups * p.group_inputs, outputs = p.groups * p.group_outputs;
    const auto u32 = [](size_t n) { return static_cast<uint32_t>(n); };
    require(
        xnn_create_convolution2d_nhwc_f32(
            u32(p.pad_top), u32(p.pad_right), u32(p.pad_bottom), u32(p.pad_left),
            u32(p.kernel_height), u32(p.kernel_width), u32(p.stride_height), u32(p.stride_width), 1,
            1, u32(p.groups), p.group_inputs, p.group_outputs, inputs, outputs, weights, bias,
            -INFINITY, INFINITY, winograd ? kWinogradFlag : 0, nullptr, nullptr, &op_),
        "create");
    size_t workspace = 0, alignment = 0, height = 0, width = 0;
    require(xnn_reshape_convolution2d_nhwc_f32(op_, 1, layer.size, layer.size, &workspace,
                                               &alignment, &height, &width, pool),
            "reshape");
    workspace_ = aligned(workspace);
    require(xnn_setup_convolution2d_nhwc_f32(op_, workspace_.get(), input, output), "setup");
  }
  Theirs(const Theirs&) = delete;
  Theirs& operator=(const Theirs&) = delete;
  ~Theirs() { xnn_delete_operator(op_); }

  void run() { require(xnn_run_operator(op_, pool_), "run"); }

 private:
  xnn_operator_t op_ = nullptr;
  pthreadpool_t pool_;
  std::unique_ptr<void, Free> workspace_;
};

class Ours {
 public:
  Ours(const Layer& layer, const float* weights, const float* bias, const float* input,
       float* output, Threads& threads)
      : conv_(Conv2d::plan(layer.params, 1, {layer.size, layer.size})), threads_(threads) {
    packed_ = aligned(conv_.packed_bytes());
    conv_.pack(ConvWeights::ohwi(layer.params, weights, bias), static_cast<float*>(packed_.get()),
               threads);
    call_.batch = 1;
    call_.input_size = {layer.size, layer.size};
    call_.input = input;
    call_.input_pixel_stride = layer.params.groups * layer.params.group_inputs;
    call_.packed = static_cast<float*>(packed_.get());
    call_.output = output;
    call_.output_pixel_stride = layer.params.groups * layer.params.group_outputs;
    scratch_ = aligned(conv_.scratch_bytes(1, call_.input_size, threads.count()));
    call_.scratch = scratch_.get();
  }

  void run() { conv_.run(call_, threads_); }
  bool is_winograd() const { return conv_.algorithm() == ConvAlgorithm::Winograd; }

 private:
  Conv2d conv_;
  Threads& threads_;
  std::unique_ptr<void, Free> packed_, scratch_;
  Conv2dCall call_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median seconds of both, measured in turns, the median of their ratio, and the ratio of the
/// shortest times, which a busy machine disturbs least.
template <class A, class B>
void measure(A&& theirs, B&& ours, double seconds, bool of_processor, double* their_time,
             double* our_time, double* ratio, double* best_ratio) {
  const double begin = now(of_processor);
  theirs();
  ours();
  const double once = std::max((now(of_processor) - begin) / 2, 1e-7);
  const auto repeats = size_t(std::max(1.0, 1e-3 / once));
  std::vector<double> theirs_all, ours_all, ratios;
  const double end = now(of_processor) + seconds;
  while (now(of_processor) < end || ratios.size() < 5) {
    const double a = now(of_processor);
    for (size_t i = 0; i < repeats; ++i) theirs();
    const double b = now(of_processor);
    for (size_t i = 0; i < repeats; ++i) ours();
    const double c = now(of_processor);
    theirs_all.push_back((b - a) / double(repeats));
    ours_all.push_back((c - b) / double(repeats));
    ratios.push_back((c - b) / (b - a));
  }
  *their_time = median(theirs_all);
  *our_time = median(ours_all);
  *ratio = median(ratios);
  *best_ratio = *std::min_element(ours_all.begin(), ours_all.end()) /
                *std::min_element(theirs_all.begin(), theirs_all.end());
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = size_t(argc > 1 ? std::atoi(argv[1]) : 1);
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.3;
  const char* const part = argc > 3 ? argv[3] : "";
  require(xnn_initialize(nullptr), "initialize");
  pthreadpool_t pool = count > 1 ? pthreadpool_create(count) : nullptr;
  PoolThreads threads(pool);
  std::printf("%s, %zu thread(s); medians in microseconds\n", name_of(instruction_set()), count);
  double total = 0;
  size_t layers = 0;
  for (const Layer& layer : kLayers) {
    if (std::strstr(layer.name, part) == nullptr) continue;
    const Conv2dParams& p = layer.params;
    const ImageSize output = output_size(p, {layer.size, layer.size});
    const size_t points = output.height * output.width, outputs = p.groups * p.group_outputs;
    const std::vector<float> weights =
        numbers(outputs * p.kernel_height * p.kernel_width * p.group_inputs);
    const std::vector<float> bias = numbers(outputs);
    const std::vector<float> input =
        numbers(layer.size * layer.size * p.groups * p.group_inputs + 16);
    const auto a = aligned(points * outputs * sizeof(float));
    const auto b = aligned(points * outputs * sizeof(float));
    const auto *const from_theirs = static_cast<float*>(a.get()), *const from_ours =
                                                                      static_cast<float*>(b.get());
    Ours ours(layer, weights.data(), bias.data(), input.data(), static_cast<float*>(b.get()),
              threads);
    Theirs theirs(layer, ours.is_winograd(), weights.data(), bias.data(), input.data(),
                  static_cast<float*>(a.get()), pool);
    double their_time = 0, our_time = 0, ratio = 0, best_ratio = 0;
    measure([&] { theirs.run(); }, [&] { ours.run(); }, seconds, count == 1, &their_time, &our_time,
            &ratio, &best_ratio);
    double worst = 0;
    for (size_t i = 0; i < points * outputs; ++i) {
      worst = std::max(worst, double(std::fabs(from_theirs[i] - from_ours[i])));
    }
    const double products = double(points) * double(weights.size());
    std::printf("%-30s %9.1f %9.1f  ratio %.3f (of the best %.3f)  %6.1f G/s  difference %.1e%s\n",
                layer.name, 1e6 * their_time, 1e6 * our_time, ratio, best_ratio,
                1e-9 * products / our_time, worst, ours.is_winograd() ? "  winograd" : "");
    std::fflush(stdout);
    total += std::log(ratio);
    ++layers;
  }
  if (layers != 0)
    std::printf("geometric mean of the ratios: %.3f\n", std::exp(total / double(layers)));
  pthreadpool_destroy(pool);
  return 0;
}
