// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs in the style of documented pages: one header of a runner brings all that they call.
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::llm;
using executorch::extension::Module;
using executorch::runtime::Error;

/// A runner of one's own, without the functions that have defaults.
class OwnRunner : public IRunner {
 public:
  bool is_loaded() const override { return true; }
  Error load() override { return Error::Ok; }
  Error generate(const std::string&, const GenerationConfig&,
                 std::function<void(const std::string&)>,
                 std::function<void(const Stats&)>) override {
    return Error::Ok;
  }
  void stop() override {}
  void reset() override {}
};

static_assert(
    std::is_same_v<decltype(get_eos_ids(nullptr, nullptr)), std::unordered_set<uint64_t>>);
static_assert(!std::is_final_v<TextLLMRunner> && !std::is_final_v<MultimodalRunner>);
static_assert(std::is_convertible_v<executorch::extension::TensorPtr, Image>);
static_assert(std::is_same_v<torch::executor::TextDecoderRunner, TextDecoderRunner>);
static_assert(std::is_same_v<torch::executor::TextPrefiller, TextPrefiller>);
static_assert(std::is_same_v<torch::executor::TextTokenGenerator, TextTokenGenerator>);

TEST(DocumentedProgramTest, ARunnerNeedNotPrefill) {
  executorch::runtime::runtime_init();
  OwnRunner runner;
  EXPECT_EQ(runner.prefill({make_text_input("Describe this image:")}).error(), Error::NotSupported);
}

TEST(DocumentedProgramTest, NewTokensAreLimitedByTheContext) {
  GenerationConfig config;
  EXPECT_EQ(config.resolve_max_new_tokens(int64_t{128}, int64_t{28}), 100);
  EXPECT_EQ(config.resolve_max_new_tokens(int64_t{1} << 40, 0), INT32_MAX);
  EXPECT_EQ(config.resolve_max_new_tokens(10, 28), 0);
}

TEST(DocumentedProgramTest, MissingFilesGiveNoTokenizerAndNoRunner) {
  executorch::runtime::runtime_init();
  auto tokenizer = load_tokenizer("no such tokenizer.json", nullptr, std::nullopt, 0, 0);
  EXPECT_EQ(tokenizer, nullptr);
  EXPECT_EQ(create_text_llm_runner("no such model.pte", std::move(tokenizer)), nullptr);
}

TEST(DocumentedProgramTest, TheMemoryInUseIsReported) { EXPECT_GT(get_rss_bytes(), size_t{0}); }

TEST(DocumentedProgramTest, AudioHasABatchDimensionOnRequest) {
  Audio audio(std::vector<float>(8), 1, 2, 4);
  audio.get_float_data()[7] = 3;
  const auto tensor = audio.toTensor(true);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ((*tensor)->dim(), 4);
  EXPECT_EQ((*tensor)->const_data_ptr<float>()[7], 3);
  EXPECT_EQ((*audio.toTensor())->dim(), 3);
}

}  // namespace
