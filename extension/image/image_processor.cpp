// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/image/image_processor.h>

#include <cinttypes>
#include <utility>

#include <executorch/extension/image/pixel_rows.h>
#include <executorch/extension/image/resampling.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::image {

using internal::PackedImage;
using internal::Pixel;
using internal::Place;
using internal::Taps;
using internal::Turn;
using internal::YuvImage;
using runtime::Error;
using runtime::Result;

class ImageProcessor::Impl {
 public:
  explicit Impl(ImageProcessorConfig given) : config(given) {}

  const ImageProcessorConfig config;
  Taps columns;
  Taps rows;
  std::vector<Pixel> source_row;
  std::vector<Pixel> resized_rows;  // a ring of the source rows that a result row reads
};

namespace {

/// A region of the upright image in pixels.
struct Region {
  int32_t x;
  int32_t y;
  int32_t width;
  int32_t height;
};

constexpr bool is_rotation(Orientation orientation) {
  return orientation == Orientation::UP || orientation == Orientation::DOWN ||
         orientation == Orientation::RIGHT || orientation == Orientation::LEFT;
}

/// The first pixel and the number of pixels (at least 1) of a part of a side. Products that
/// rounding left just below a whole number count as that number.
std::pair<int32_t, int32_t> part_of_side(float begin, float length, int32_t size) {
  const auto pixels = [size](float fraction) {
    // A fraction just above 1 of the largest side does not fit int32_t.
    return static_cast<int32_t>(
        std::min<double>(static_cast<double>(fraction) * size + 1e-3, size));
  };
  const int32_t first = std::min(pixels(begin), size - 1);
  return {first, std::max(1, std::min(pixels(length), size - first))};
}

Region region_of(const Turn& turn, const NormalizedRect& roi) {
  const auto [x, width] = part_of_side(roi.x, roi.width, turn.upright_width());
  const auto [y, height] = part_of_side(roi.y, roi.height, turn.upright_height());
  return {x, y, width, height};
}

/// The settings of a processor that was moved from, recognized by their address.
constexpr ImageProcessorConfig kMovedFrom = {/*target_width=*/0, /*target_height=*/0};

Error check_config(const ImageProcessorConfig& config) {
  ET_CHECK_OR_RETURN_ERROR(&config != &kMovedFrom, InvalidState,
                           "the image processor was moved from");
  // The strides of the result, [1, channels, height, width], have 31 bits.
  constexpr int32_t kMaxPixels = INT32_MAX / ImageProcessorConfig::kOutputChannels;
  ET_CHECK_OR_RETURN_ERROR(config.target_width > 0 && config.target_height > 0 &&
                               int64_t{config.target_width} * config.target_height <= kMaxPixels,
                           InvalidArgument,
                           "the target size is %d x %d, expected 1 x 1 to %d pixels",
                           config.target_width, config.target_height, kMaxPixels);
  for (int32_t c = 0; c < ImageProcessorConfig::kOutputChannels; ++c) {
    ET_CHECK_OR_RETURN_ERROR(config.normalization.std_dev[c] != 0.0f, InvalidArgument,
                             "the normalization divides channel %d by a standard deviation of 0",
                             c);
  }
  return Error::Ok;
}

Error check_geometry(int32_t width, int32_t height, Orientation orientation,
                     const NormalizedRect& roi) {
  ET_CHECK_OR_RETURN_ERROR(width > 0 && height > 0, InvalidArgument,
                           "the image has %d x %d pixels, expected 1 x 1 or more", width, height);
  ET_CHECK_OR_RETURN_ERROR(
      is_rotation(orientation), InvalidArgument,
      "orientation %d is not supported; expected 1 (up), 3 (down), 6 (right) or 8 (left)",
      static_cast<int>(orientation));
  // Sums of fractions such as 0.7 + 0.3 may exceed 1 by rounding. NaN fails every comparison.
  constexpr float kEnd = 1.0f + 1e-6f;
  ET_CHECK_OR_RETURN_ERROR(
      roi.x >= 0 && roi.y >= 0 && roi.width > 0 && roi.height > 0 && roi.x + roi.width <= kEnd &&
          roi.y + roi.height <= kEnd,
      InvalidArgument,
      "the region x %g, y %g, width %g, height %g is empty or exceeds the image, which is 1 x 1",
      static_cast<double>(roi.x), static_cast<double>(roi.y), static_cast<double>(roi.width),
      static_cast<double>(roi.height));
  return Error::Ok;
}

Error check_output(const ImageProcessorConfig& config, const aten::Tensor& out) {
  const bool sizes_match =
      out.dim() == 4 && out.size(0) == 1 && out.size(1) == ImageProcessorConfig::kOutputChannels &&
      out.size(2) == config.target_height && out.size(3) == config.target_width;
  ET_CHECK_OR_RETURN_ERROR(sizes_match && out.scalar_type() == aten::ScalarType::Float,
                           InvalidArgument,
                           "the output must be a float tensor of sizes [1, 3, %d, %d]",
                           config.target_height, config.target_width);
  bool contiguous = true;
  int64_t stride = 1;
  for (auto d = out.dim(); d-- > 0;) {
    contiguous = contiguous && (out.size(d) == 1 || out.strides()[d] == stride);
    stride *= out.size(d);
  }
  ET_CHECK_OR_RETURN_ERROR(contiguous, InvalidArgument, "the output must be contiguous");
  ET_CHECK_OR_RETURN_ERROR(out.mutable_data_ptr() != nullptr, InvalidArgument,
                           "the output has no memory");
  return Error::Ok;
}

/// The order in which a pixel of the input holds red, green and blue.
struct ChannelOrder {
  int32_t red;
  int32_t green;
  int32_t blue;
};

/// Resizes `row` to `columns` pixels.
void resize_row(const Pixel* row, const Taps& columns, Pixel* result) {
  for (const Taps::Range& range : columns.ranges) {
    const float* weights = columns.weights.data() + range.weights;
    Pixel sum = {};
    for (int32_t k = 0; k < range.count; ++k) {
      sum += row[range.first + k] * weights[k];
    }
    *result++ = sum;
  }
}

/// The pixels of row `y` of the upright image, `count` from column `x`.
template <typename Image>
void read_row(const Image& image, const Turn& turn, int32_t x, int32_t y, int32_t count,
              Pixel* row) {
  Place place = turn.source(x, y);
  const Place next = turn.source(x + 1, y);
  const Place step = {next.x - place.x, next.y - place.y};
  for (int32_t i = 0; i < count; ++i) {
    row[i] = image.at(place);
    place = {place.x + step.x, place.y + step.y};
  }
}

template <typename Image>
void compute(ImageProcessor::Impl& state, const Image& image, ChannelOrder order, const Turn& turn,
             const NormalizedRect& roi, float* out) {
  const ImageProcessorConfig& config = state.config;
  const Region region = region_of(turn, roi);
  int32_t width, height, final_width, final_height;
  compute_resize_dims(region.width, region.height, config, width, height, final_width,
                      final_height);
  const auto [left, top] =
      compute_letterbox_offset(width, height, final_width, final_height, config.letterbox_anchor);
  internal::compute_taps(region.width, width, state.columns);
  internal::compute_taps(region.height, height, state.rows);
  int32_t ring = 1;
  for (const Taps::Range& range : state.rows.ranges) {
    ring = std::max(ring, range.count);
  }
  const auto row_size = static_cast<size_t>(width);
  state.source_row.resize(static_cast<size_t>(region.width));
  state.resized_rows.resize(row_size * static_cast<size_t>(ring));
  const auto resized = [&](int32_t y) {
    return state.resized_rows.data() + static_cast<size_t>(y % ring) * row_size;
  };

  const size_t plane = static_cast<size_t>(final_width) * static_cast<size_t>(final_height);
  if (width < final_width || height < final_height) {
    std::fill_n(out, 3 * plane, config.pad_value);
  }
  const Normalization& norm = config.normalization;
  const int32_t channels[3] = {order.red, order.green, order.blue};
  int32_t resized_end = 0;  // source rows before it are in the ring, or no longer needed
  for (int32_t y = 0; y < height; ++y) {
    const Taps::Range& range = state.rows.ranges[static_cast<size_t>(y)];
    for (resized_end = std::max(resized_end, range.first); resized_end < range.first + range.count;
         ++resized_end) {
      read_row(image, turn, region.x, region.y + resized_end, region.width,
               state.source_row.data());
      resize_row(state.source_row.data(), state.columns, resized(resized_end));
    }
    const float* weights = state.rows.weights.data() + range.weights;
    float* result = out + static_cast<size_t>(top + y) * static_cast<size_t>(final_width) +
                    static_cast<size_t>(left);
    for (size_t x = 0; x < row_size; ++x) {
      Pixel sum = {};
      for (int32_t k = 0; k < range.count; ++k) {
        sum += resized(range.first + k)[x] * weights[k];
      }
      for (size_t c = 0; c < 3; ++c) {
        result[c * plane + x] =
            (sum[channels[c]] * norm.scale_factor - norm.mean[c]) / norm.std_dev[c];
      }
    }
  }
}

/// A tensor for the result of `fill`, which writes it.
template <typename Fill>
Result<TensorPtr> allocated(const ImageProcessorConfig& config, const Fill& fill) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_config(config));
  return or_no_memory("an image's tensor", [&]() -> Result<TensorPtr> {
    TensorPtr tensor = make_tensor_ptr(
        {1, ImageProcessorConfig::kOutputChannels, config.target_height, config.target_width},
        std::vector<float>(static_cast<size_t>(ImageProcessorConfig::kOutputChannels) *
                           static_cast<size_t>(config.target_height) *
                           static_cast<size_t>(config.target_width)));
    ET_CHECK_OK_OR_RETURN_ERROR(fill(*tensor));
    return tensor;
  });
}

}  // namespace

ImageProcessor::ImageProcessor() : ImageProcessor(ImageProcessorConfig()) {}
ImageProcessor::ImageProcessor(ImageProcessorConfig config)
    : impl_(std::make_unique<Impl>(config)) {}
ImageProcessor::~ImageProcessor() = default;
ImageProcessor::ImageProcessor(ImageProcessor&&) noexcept = default;
ImageProcessor& ImageProcessor::operator=(ImageProcessor&&) noexcept = default;

const ImageProcessorConfig& ImageProcessor::config() const {
  return impl_ == nullptr ? kMovedFrom : impl_->config;
}

ImageProcessor::Impl& ImageProcessor::impl() const noexcept { return *impl_; }

std::vector<int32_t> ImageProcessor::compute_output_shape(int32_t, int32_t, Orientation,
                                                          NormalizedRect) const {
  return {1, ImageProcessorConfig::kOutputChannels, config().target_height, config().target_width};
}

std::pair<int32_t, int32_t> ImageProcessor::compute_letterbox_padding(int32_t input_width,
                                                                      int32_t input_height,
                                                                      Orientation orientation,
                                                                      NormalizedRect roi) const {
  if (config().resize_mode != ResizeMode::LETTERBOX || check_config(config()) != Error::Ok ||
      check_geometry(input_width, input_height, orientation, roi) != Error::Ok) {
    return {0, 0};
  }
  const Region region = region_of({orientation, input_width, input_height}, roi);
  int32_t width, height, final_width, final_height;
  compute_resize_dims(region.width, region.height, config(), width, height, final_width,
                      final_height);
  return compute_letterbox_offset(width, height, final_width, final_height,
                                  config().letterbox_anchor);
}

Error ImageProcessor::process_into(const uint8_t* data, int32_t width, int32_t height,
                                   int32_t stride_bytes, ColorFormat input_format,
                                   aten::Tensor& out, Orientation orientation,
                                   NormalizedRect roi) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_config(config()));
  ET_CHECK_OK_OR_RETURN_ERROR(check_geometry(width, height, orientation, roi));
  ET_CHECK_OK_OR_RETURN_ERROR(check_output(config(), out));
  ET_CHECK_OR_RETURN_ERROR(data != nullptr, InvalidArgument, "the image has no data");
  ET_CHECK_OR_RETURN_ERROR(stride_bytes >= int64_t{width} * bytes_per_pixel(input_format),
                           InvalidArgument,
                           "rows begin %d bytes apart, but a row of %d pixels takes %" PRId64,
                           stride_bytes, width, int64_t{width} * bytes_per_pixel(input_format));
  const ChannelOrder order =
      input_format == ColorFormat::RGBA ? ChannelOrder{0, 1, 2} : ChannelOrder{2, 1, 0};
  return or_no_memory("resizing an image", [&] {
    compute(impl(), PackedImage{data, stride_bytes}, order, {orientation, width, height}, roi,
            out.mutable_data_ptr<float>());
    return Error::Ok;
  });
}

Error ImageProcessor::process_yuv_into(const uint8_t* y_plane, int32_t y_stride,
                                       const uint8_t* uv_plane, int32_t uv_stride, int32_t width,
                                       int32_t height, YUVFormat format, aten::Tensor& out,
                                       Orientation orientation, NormalizedRect roi, YUVRange range,
                                       int64_t uv_plane_size) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_config(config()));
  ET_CHECK_OK_OR_RETURN_ERROR(check_geometry(width, height, orientation, roi));
  ET_CHECK_OK_OR_RETURN_ERROR(check_output(config(), out));
  ET_CHECK_OR_RETURN_ERROR(y_plane != nullptr && uv_plane != nullptr, InvalidArgument,
                           "the image lacks its %s plane", y_plane == nullptr ? "luma" : "chroma");
  ET_CHECK_OR_RETURN_ERROR(width % 2 == 0 && height % 2 == 0, InvalidArgument,
                           "the image has %d x %d pixels; 4:2:0 images have even sides", width,
                           height);
  ET_CHECK_OR_RETURN_ERROR(
      y_stride >= width && uv_stride >= width, InvalidArgument,
      "rows of luma begin %d bytes apart and rows of chroma %d, but either takes %d", y_stride,
      uv_stride, width);
  const int64_t complete = int64_t{uv_stride} * (height / 2 - 1) + width;
  ET_CHECK_OR_RETURN_ERROR(uv_plane_size < 0 || uv_plane_size >= complete - 1, InvalidArgument,
                           "the chroma plane has %" PRId64 " bytes, expected %" PRId64
                           " (or one less)",
                           uv_plane_size, complete);
  const bool byte_is_missing = uv_plane_size >= 0 && uv_plane_size < complete;
  const YuvImage image(y_plane, y_stride, uv_plane, uv_stride, format, range,
                       {width / 2 - 1, height / 2 - 1}, byte_is_missing);
  return or_no_memory("resizing an image", [&] {
    compute(impl(), image, {0, 1, 2}, {orientation, width, height}, roi,
            out.mutable_data_ptr<float>());
    return Error::Ok;
  });
}

Result<TensorPtr> ImageProcessor::process(const uint8_t* data, int32_t width, int32_t height,
                                          int32_t stride_bytes, ColorFormat input_format,
                                          Orientation orientation, NormalizedRect roi) const {
  return allocated(config(), [&](aten::Tensor& out) {
    return process_into(data, width, height, stride_bytes, input_format, out, orientation, roi);
  });
}

Result<TensorPtr> ImageProcessor::process_yuv(const uint8_t* y_plane, int32_t y_stride,
                                              const uint8_t* uv_plane, int32_t uv_stride,
                                              int32_t width, int32_t height, YUVFormat format,
                                              Orientation orientation, NormalizedRect roi,
                                              YUVRange range, int64_t uv_plane_size) const {
  return allocated(config(), [&](aten::Tensor& out) {
    return process_yuv_into(y_plane, y_stride, uv_plane, uv_stride, width, height, format, out,
                            orientation, roi, range, uv_plane_size);
  });
}

}  // namespace executorch::extension::image
