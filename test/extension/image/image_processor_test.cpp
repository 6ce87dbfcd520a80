// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/image/image_processor.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/test/oracle/tolerances.h>

namespace executorch::extension::image {
namespace {

using runtime::Error;

struct Rgb {
  double r, g, b;
};

/// Random pixels of four bytes, rows `padding` bytes apart.
struct TestImage {
  TestImage(int32_t image_width, int32_t image_height, int32_t padding = 0)
      : width(image_width), height(image_height), stride(image_width * 4 + padding) {
    std::mt19937 random(static_cast<unsigned>(width * 1000 + height));
    bytes.resize(static_cast<size_t>(stride) * height);
    for (int32_t y = 0; y < height; ++y) {
      for (int32_t x = 0; x < width * 4; ++x) {
        bytes[static_cast<size_t>(y) * stride + x] = static_cast<uint8_t>(random());
      }
    }
  }
  Rgb rgba(int32_t x, int32_t y) const {
    const uint8_t* p = bytes.data() + static_cast<size_t>(y) * stride + x * 4;
    return {double(p[0]), double(p[1]), double(p[2])};
  }

  int32_t width, height, stride;
  std::vector<uint8_t> bytes;
};

ImageProcessorConfig target(int32_t width, int32_t height) {
  ImageProcessorConfig config;
  config.target_width = width;
  config.target_height = height;
  return config;
}

double triangle(double distance, double support) {
  return std::max(0.0, 1.0 - std::abs(distance) / support);
}

/// The formula of resampling.h in two dimensions, in double precision, pixel by pixel.
Rgb resized_pixel(const std::function<Rgb(int32_t, int32_t)>& source, int32_t width, int32_t height,
                  int32_t result_width, int32_t result_height, int32_t x, int32_t y) {
  const double scale_x = double(width) / result_width, scale_y = double(height) / result_height;
  Rgb sum{0, 0, 0};
  double weights = 0;
  for (int32_t v = 0; v < height; ++v) {
    for (int32_t u = 0; u < width; ++u) {
      const double weight = triangle(u + 0.5 - (x + 0.5) * scale_x, std::max(1.0, scale_x)) *
                            triangle(v + 0.5 - (y + 0.5) * scale_y, std::max(1.0, scale_y));
      if (weight > 0) {
        const Rgb pixel = source(u, v);
        sum = {sum.r + weight * pixel.r, sum.g + weight * pixel.g, sum.b + weight * pixel.b};
        weights += weight;
      }
    }
  }
  return {sum.r / weights, sum.g / weights, sum.b / weights};
}

void expect_pixel(const aten::Tensor& tensor, int32_t x, int32_t y, Rgb expected) {
  const auto width = tensor.size(3), plane = tensor.size(2) * width;
  const float* data = tensor.const_data_ptr<float>() + y * width + x;
  EXPECT_NEAR(data[0], expected.r / 255, tolerance::kPixels) << "red of " << x << ", " << y;
  EXPECT_NEAR(data[plane], expected.g / 255, tolerance::kPixels) << "green of " << x << ", " << y;
  EXPECT_NEAR(data[2 * plane], expected.b / 255, tolerance::kPixels)
      << "blue of " << x << ", " << y;
}

struct Sizes {
  int32_t width, height, result_width, result_height;
};

class ImageProcessorSizes : public ::testing::TestWithParam<Sizes> {};

TEST_P(ImageProcessorSizes, ResizesByTheAntialiasedBilinearFormula) {
  const auto [width, height, result_width, result_height] = GetParam();
  const TestImage image(width, height, /*padding=*/12);
  const ImageProcessor processor(target(result_width, result_height));
  const auto result =
      processor.process(image.bytes.data(), width, height, image.stride, ColorFormat::RGBA);
  ASSERT_TRUE(result.ok());
  for (int32_t y = 0; y < result_height; ++y) {
    for (int32_t x = 0; x < result_width; ++x) {
      expect_pixel(**result, x, y,
                   resized_pixel([&](int32_t u, int32_t v) { return image.rgba(u, v); }, width,
                                 height, result_width, result_height, x, y));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ImageProcessorSizes,
                         ::testing::Values(Sizes{8, 6, 8, 6}, Sizes{8, 6, 3, 5}, Sizes{3, 5, 8, 6},
                                           Sizes{1, 1, 4, 4}, Sizes{64, 48, 7, 9},
                                           Sizes{7, 1, 1, 7}, Sizes{2, 30, 5, 4},
                                           Sizes{33, 17, 1, 1}));

TEST(ImageProcessorTest, OrientationTurnsTheImageBeforeItsRegionIsTaken) {
  const TestImage image(6, 4);
  struct Case {
    Orientation orientation;
    int32_t width, height;
    std::function<Rgb(int32_t, int32_t)> upright;
  };
  const Case cases[] = {
      {Orientation::UP, 6, 4, [&](int32_t x, int32_t y) { return image.rgba(x, y); }},
      {Orientation::DOWN, 6, 4, [&](int32_t x, int32_t y) { return image.rgba(5 - x, 3 - y); }},
      {Orientation::RIGHT, 4, 6, [&](int32_t x, int32_t y) { return image.rgba(y, 3 - x); }},
      {Orientation::LEFT, 4, 6, [&](int32_t x, int32_t y) { return image.rgba(5 - y, x); }}};
  for (const Case& c : cases) {
    // The right half and the lower half, without resizing.
    const ImageProcessor processor(target(c.width / 2, c.height / 2));
    const auto result = processor.process(image.bytes.data(), 6, 4, image.stride, ColorFormat::RGBA,
                                          c.orientation, {0.5f, 0.5f, 0.5f, 0.5f});
    ASSERT_TRUE(result.ok());
    for (int32_t y = 0; y < c.height / 2; ++y) {
      for (int32_t x = 0; x < c.width / 2; ++x) {
        expect_pixel(**result, x, y, c.upright(c.width / 2 + x, c.height / 2 + y));
      }
    }
  }
}

TEST(ImageProcessorTest, LetterboxPadsAroundTheImageWithValuesThatAreNotNormalized) {
  auto config = target(8, 8);
  config.resize_mode = ResizeMode::LETTERBOX;
  config.pad_value = -3.0f;
  config.normalization = Normalization::imagenet();
  const TestImage image(8, 4);
  const ImageProcessor processor(config);
  EXPECT_EQ(processor.compute_letterbox_padding(8, 4), (std::pair<int32_t, int32_t>{0, 2}));
  EXPECT_EQ(processor.compute_letterbox_padding(8, 4, Orientation::LEFT),
            (std::pair<int32_t, int32_t>{2, 0}));
  const auto result = processor.process(image.bytes.data(), 8, 4, image.stride, ColorFormat::BGRA);
  ASSERT_TRUE(result.ok());
  const float* red = (*result)->const_data_ptr<float>();
  for (int32_t x = 0; x < 8; ++x) {
    EXPECT_EQ(red[x], -3.0f);
    EXPECT_EQ(red[6 * 8 + x], -3.0f);
    EXPECT_NEAR(red[2 * 8 + x], (image.rgba(x, 0).b / 255 - 0.485) / 0.229, tolerance::kPixels);
  }
}

TEST(ImageProcessorTest, YuvIsDecodedByBt601InEitherRangeAndByteOrder) {
  const uint8_t luma = 90, cb = 110, cr = 170;
  for (const auto format : {YUVFormat::NV12, YUVFormat::NV21}) {
    std::vector<uint8_t> y_plane(4 * 2, luma), uv_plane;
    for (int i = 0; i < 2; ++i) {
      uv_plane.push_back(format == YUVFormat::NV12 ? cb : cr);
      uv_plane.push_back(format == YUVFormat::NV12 ? cr : cb);
    }
    for (const auto range : {YUVRange::VIDEO, YUVRange::FULL}) {
      const bool video = range == YUVRange::VIDEO;
      const double y = video ? (luma - 16) * 255.0 / 219 : luma;
      const double u = (cb - 128) * (video ? 255.0 / 224 : 1);
      const double v = (cr - 128) * (video ? 255.0 / 224 : 1);
      const ImageProcessor processor(target(4, 2));
      const auto result = processor.process_yuv(y_plane.data(), 4, uv_plane.data(), 4, 4, 2, format,
                                                Orientation::UP, kFullImage, range);
      ASSERT_TRUE(result.ok());
      expect_pixel(**result, 3, 1, {y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u});
    }
  }
}

TEST(ImageProcessorTest, AChromaPlaneMayEndOneByteEarlyButNotTwo) {
  const std::vector<uint8_t> y_plane(16, 100);
  std::vector<uint8_t> uv_plane(8, 128);
  uv_plane[6] = 90;
  const std::vector<uint8_t> short_plane(uv_plane.begin(), uv_plane.end() - 1);
  uv_plane[7] = uv_plane[5];
  const ImageProcessor processor(target(4, 4));
  const auto run = [&](const uint8_t* plane, int64_t size) {
    return processor.process_yuv(y_plane.data(), 4, plane, 4, 4, 4, YUVFormat::NV12,
                                 Orientation::UP, kFullImage, YUVRange::FULL, size);
  };
  const auto expected = run(uv_plane.data(), 8);
  const auto result = run(short_plane.data(), 7);
  ASSERT_TRUE(expected.ok() && result.ok());
  for (int i = 0; i < 48; ++i) {
    EXPECT_EQ((*result)->const_data_ptr<float>()[i], (*expected)->const_data_ptr<float>()[i]);
  }
  EXPECT_EQ(run(short_plane.data(), 6).error(), Error::InvalidArgument);
}

TEST(ImageProcessorTest, AnOutputTensorIsWrittenWhole) {
  auto config = target(3, 3);
  config.resize_mode = ResizeMode::LETTERBOX;
  const TestImage image(5, 2);
  const ImageProcessor processor(config);
  const auto expected =
      processor.process(image.bytes.data(), 5, 2, image.stride, ColorFormat::RGBA);
  ASSERT_TRUE(expected.ok());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto out = make_tensor_ptr({1, 3, 3, 3}, std::vector<float>(27, nan));
  ASSERT_EQ(processor.process_into(image.bytes.data(), 5, 2, image.stride, ColorFormat::RGBA, *out),
            Error::Ok);
  for (int i = 0; i < 27; ++i) {
    EXPECT_EQ(out->const_data_ptr<float>()[i], (*expected)->const_data_ptr<float>()[i]);
  }
}

TEST(ImageProcessorTest, WrongArgumentsAreRefused) {
  const TestImage image(4, 4);
  const ImageProcessor processor(target(2, 2));
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto error = [&](const uint8_t* data, int32_t width, int32_t height, int32_t stride,
                         Orientation orientation = Orientation::UP,
                         NormalizedRect roi = kFullImage) {
    return processor.process(data, width, height, stride, ColorFormat::RGBA, orientation, roi)
        .error();
  };
  const uint8_t* data = image.bytes.data();
  EXPECT_EQ(error(nullptr, 4, 4, 16), Error::InvalidArgument);
  EXPECT_EQ(error(data, 0, 4, 16), Error::InvalidArgument);
  EXPECT_EQ(error(data, 4, -1, 16), Error::InvalidArgument);
  EXPECT_EQ(error(data, 4, 4, 15), Error::InvalidArgument);
  EXPECT_EQ(error(data, std::numeric_limits<int32_t>::max(), 1, 4), Error::InvalidArgument);
  EXPECT_EQ(error(data, 4, 4, 16, static_cast<Orientation>(2)), Error::InvalidArgument);
  for (const NormalizedRect roi : {NormalizedRect{0.5f, 0, 0.6f, 1}, NormalizedRect{0, 0, 0, 1},
                                   NormalizedRect{-0.1f, 0, 0.5f, 1}, NormalizedRect{0, nan, 1, 1},
                                   NormalizedRect{0, 0, nan, 1}}) {
    EXPECT_EQ(error(data, 4, 4, 16, Orientation::UP, roi), Error::InvalidArgument);
  }
  const auto yuv_error = [&](const uint8_t* y, const uint8_t* uv, int32_t width, int32_t height,
                             int32_t y_stride, int32_t uv_stride) {
    return processor.process_yuv(y, y_stride, uv, uv_stride, width, height, YUVFormat::NV12)
        .error();
  };
  EXPECT_EQ(yuv_error(nullptr, data, 4, 4, 4, 4), Error::InvalidArgument);
  EXPECT_EQ(yuv_error(data, nullptr, 4, 4, 4, 4), Error::InvalidArgument);
  EXPECT_EQ(yuv_error(data, data, 3, 4, 4, 4), Error::InvalidArgument);
  EXPECT_EQ(yuv_error(data, data, 4, 3, 4, 4), Error::InvalidArgument);
  EXPECT_EQ(yuv_error(data, data, 4, 4, 3, 4), Error::InvalidArgument);
  EXPECT_EQ(yuv_error(data, data, 4, 4, 4, 3), Error::InvalidArgument);
}

TEST(ImageProcessorTest, WrongSettingsAndOutputsAreRefused) {
  const TestImage image(4, 4);
  const auto error_of = [&](const ImageProcessorConfig& config) {
    return ImageProcessor(config)
        .process(image.bytes.data(), 4, 4, image.stride, ColorFormat::RGBA)
        .error();
  };
  EXPECT_EQ(error_of(target(0, 4)), Error::InvalidArgument);
  // 3 * 2^30 numbers are more than a tensor has.
  auto large = target(1 << 15, 1 << 15);
  large.resize_mode = ResizeMode::LETTERBOX;
  EXPECT_EQ(ImageProcessor(large).compute_letterbox_padding(2, 1), std::make_pair(0, 0));
  auto zero_deviation = target(2, 2);
  zero_deviation.normalization.std_dev[1] = 0;
  EXPECT_EQ(error_of(zero_deviation), Error::InvalidArgument);

  const ImageProcessor processor(target(4, 4));
  const std::vector<TensorPtr> outputs = {
      make_tensor_ptr({1, 3, 4, 5}, std::vector<float>(60)),
      make_tensor_ptr({3, 4, 4}, std::vector<float>(48)),
      make_tensor_ptr({1, 3, 4, 4}, std::vector<int32_t>(48)),
      make_tensor_ptr<float>({1, 3, 4, 4}, std::vector<float>(48), {0, 2, 3, 1})};
  for (const TensorPtr& out : outputs) {
    EXPECT_EQ(
        processor.process_into(image.bytes.data(), 4, 4, image.stride, ColorFormat::RGBA, *out),
        Error::InvalidArgument);
  }
}

TEST(ImageProcessorTest, AProcessorThatWasMovedFromReportsIt) {
  ImageProcessor processor(target(2, 2));
  const ImageProcessor moved(std::move(processor));
  const TestImage image(4, 4);
  EXPECT_EQ(processor.process(image.bytes.data(), 4, 4, image.stride, ColorFormat::RGBA).error(),
            Error::InvalidState);
  EXPECT_EQ(
      processor
          .process_yuv(image.bytes.data(), 4, image.bytes.data() + 16, 4, 4, 4, YUVFormat::NV12)
          .error(),
      Error::InvalidState);
  EXPECT_EQ(processor.config().target_width, 0);
  EXPECT_EQ(processor.compute_output_shape(4, 4), (std::vector<int32_t>{1, 3, 0, 0}));
  EXPECT_EQ(processor.compute_letterbox_padding(4, 4), std::make_pair(0, 0));
  EXPECT_TRUE(moved.process(image.bytes.data(), 4, 4, image.stride, ColorFormat::RGBA).ok());
}

TEST(ImageProcessorTest, ARegionOfLessThanAPixelIsOnePixel) {
  const TestImage image(8, 8);
  const ImageProcessor processor(target(2, 2));
  const auto result = processor.process(image.bytes.data(), 8, 8, image.stride, ColorFormat::RGBA,
                                        Orientation::UP, {0.999f, 0.5f, 0.001f, 0.01f});
  ASSERT_TRUE(result.ok());
  expect_pixel(**result, 1, 1, image.rgba(7, 4));
}

TEST(ImageProcessorTest, ARegionJustAboveTheWholeOfTheLargestSideIsTheWhole) {
  auto config = target(64, 64);
  config.resize_mode = ResizeMode::LETTERBOX;
  const ImageProcessor processor(config);
  const NormalizedRect above = {0, 0, 1.0000005f, 1.0000005f};
  EXPECT_EQ(processor.compute_letterbox_padding(INT32_MAX, 1 << 30, Orientation::UP, above),
            processor.compute_letterbox_padding(INT32_MAX, 1 << 30));
}

}  // namespace
}  // namespace executorch::extension::image
