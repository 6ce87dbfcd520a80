// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/sampler/sampler.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include <executorch/extension/llm/runner/text/text_output.h>
#include <executorch/extension/llm/sampler/util.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/test/oracle/tolerances.h>

namespace {

using executorch::extension::from_blob;
using executorch::extension::make_tensor_ptr;
using executorch::extension::llm::logits_to_token;
using executorch::extension::llm::Sampler;
using executorch::extension::llm::SamplingOptions;
using executorch::extension::llm::StopStrings;
using executorch::extension::llm::Utf8Stream;
using executorch::runtime::Error;

class SamplerTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  /// Returns how often each token is drawn.
  static std::map<uint64_t, int> draw(SamplingOptions options, int count = 4000) {
    options.seed = 11;
    Sampler sampler(options);
    const auto logits = make_tensor_ptr(
        {1, 4},
        std::vector<float>{std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)});
    std::map<uint64_t, int> counts;
    for (int i = 0; i < count; ++i) ++counts[*sampler.sample(*logits)];
    return counts;
  }
};

TEST_F(SamplerTest, DrawsTokensInProportionToTheirProbabilities) {
  SamplingOptions options;
  options.temperature = 1;
  const auto counts = draw(options);
  EXPECT_NEAR(counts.at(0) / 4000.0, 0.5, tolerance::kFrequency);
  EXPECT_NEAR(counts.at(1) / 4000.0, 0.3, tolerance::kFrequency);
  EXPECT_NEAR(counts.at(3) / 4000.0, 0.05, tolerance::kSmallFrequency);
}

TEST_F(SamplerTest, TopKAndTopPKeepTheLikelyTokens) {
  SamplingOptions options;
  options.temperature = 1;
  options.topk = 2;
  EXPECT_EQ(draw(options).size(), 2u);
  options.topk = 0;
  options.topp = 0.79f;
  EXPECT_EQ(draw(options).size(), 2u);
  options.topp = 1;
  options.minp = 0.25f;
  EXPECT_EQ(draw(options).size(), 3u);
}

TEST_F(SamplerTest, NeverChoosesNanAndRefusesRowsWithoutAChoice) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), never = -INFINITY;
  Sampler sampler(SamplingOptions{});
  EXPECT_EQ(*sampler.sample(*make_tensor_ptr({1, 2, 3}, std::vector<float>{9, 9, 9, nan, -4, -5})),
            1u);
  EXPECT_EQ(sampler.sample(*make_tensor_ptr({1, 2}, std::vector<float>{nan, never})).error(),
            Error::InvalidProgram);
  EXPECT_EQ(sampler.sample(*make_tensor_ptr({1, 2}, std::vector<int64_t>{1, 2})).error(),
            Error::InvalidProgram);
  // The output of a method, if it is a view whose instruction a jump has skipped.
  EXPECT_EQ(sampler.sample(*from_blob(nullptr, {1, 2})).error(), Error::InvalidProgram);
}

TEST_F(SamplerTest, PenalizesTokensThatOccurred) {
  SamplingOptions options;
  options.repetition_penalty = 2;
  Sampler sampler(options);
  const auto logits = make_tensor_ptr({1, 3}, std::vector<float>{3, 2, -1});
  EXPECT_EQ(*sampler.sample(*logits), 0u);
  for (const uint64_t token : {0, 2, 99}) sampler.observe(token);
  EXPECT_EQ(*sampler.sample(*logits), 1u);
}

TEST_F(SamplerTest, ProcessorsExcludeTokensOrEndTheChoice) {
  Sampler sampler(SamplingOptions{});
  const auto logits = make_tensor_ptr({1, 3}, std::vector<float>{3, 2, 1});
  sampler.set_processor([](executorch::runtime::Span<float> row) {
    row[0] = -INFINITY;
    return Error::Ok;
  });
  EXPECT_EQ(*sampler.sample(*logits), 1u);
  sampler.set_processor([](executorch::runtime::Span<float>) { return Error::NotSupported; });
  EXPECT_EQ(sampler.sample(*logits).error(), Error::NotSupported);
}

TEST_F(SamplerTest, DocumentedFormsChooseTheSameTokens) {
  const std::vector<float> row = {1, 5, 2};
  EXPECT_EQ(Sampler(3, 0.0f).sample(row.data()), 1);
  const std::vector<uint16_t> counts = {7, 9, 60000};
  EXPECT_EQ(Sampler(3, 0.0f).sample(counts.data()), 2);
  EXPECT_EQ(logits_to_token(*make_tensor_ptr({1, 3}, row)), 1);
  EXPECT_EQ(logits_to_token(*make_tensor_ptr({1, 3}, counts)), 2);
  EXPECT_EQ(logits_to_token(*make_tensor_ptr({1, 3}, row), -1.0f), -1);
}

TEST_F(SamplerTest, TextIsGivenInWholeCharacters) {
  Utf8Stream stream;
  EXPECT_EQ(stream.add("a\xE2\x82"), "a");
  EXPECT_EQ(stream.add("\xAC!\xF0"), "\xE2\x82\xAC!");
  EXPECT_EQ(stream.rest(), "\xF0");
  EXPECT_EQ(stream.add("\x9F\xFFz"), "\x9F\xFFz");
}

TEST_F(SamplerTest, StopTextsAreFoundAcrossPieces) {
  const std::vector<std::string> texts = {"END", ""};
  StopStrings stops(texts);
  std::string text = "to the E";
  EXPECT_FALSE(stops.ends(text));
  text = "ND of it";
  EXPECT_TRUE(stops.ends(text));
  EXPECT_EQ(text, "ND");
}

}  // namespace
