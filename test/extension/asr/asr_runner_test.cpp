// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The program is test/data/make_speech_program.py's.
#include <executorch/extension/asr/runner/runner.h>
#include <executorch/extension/asr/runner/seq2seq_runner.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/testing_util/temp_file.h>
#include <executorch/test/oracle/tolerances.h>

#include "runtime/executor/program_builder.h"
#include "test_paths.h"

namespace {

using executorch::aten::ScalarType;
using executorch::extension::clone_tensor_ptr;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::extension::asr::AsrRunner;
using executorch::extension::asr::AsrTranscribeConfig;
using executorch::extension::asr::TokenChoice;
using executorch::extension::testing::TempFile;
using executorch::runtime::Error;
using executorch::runtime::Result;

static_assert(std::is_same_v<AsrRunner, executorch::extension::asr::Seq2SeqRunner>);

constexpr int64_t kVocabulary = 8;
constexpr int64_t kEnd = 7;

std::string speech_path() { return std::string(TEST_DATA_DIR) + "/speech/speech.pte"; }

Result<std::string> letter_of(uint64_t, uint64_t token) {
  return std::string(1, static_cast<char>('a' + token));
}

TensorPtr features(float value) {
  return make_tensor_ptr({1, 4, 3}, std::vector<float>(12, value));
}

/// The tokens by the model's formulas for features that all have one value.
std::vector<int64_t> expected_tokens(float value, int64_t first, int64_t max_new_tokens) {
  std::vector<int64_t> tokens = {first};
  float seen = 0;
  for (int64_t position = 0; position < max_new_tokens && (position == 0 || tokens.back() != kEnd);
       ++position) {
    const int64_t token = tokens.back();
    seen += static_cast<float>(token);
    int64_t best = 0;
    float highest = -std::numeric_limits<float>::infinity();
    for (int64_t v = 0; v < kVocabulary; ++v) {
      const float logit = static_cast<float>((5 * token + 3 * v) % 8) +
                          static_cast<float>((7 * position + 2 * v * v) % 5) +
                          24 * value * 0.125f * static_cast<float>(v) +
                          0.25f * static_cast<float>(v % 3) * seen;
      if (logit > highest) {
        highest = logit;
        best = v;
      }
    }
    tokens.push_back(best);
  }
  return tokens;
}

TEST(AsrRunnerTest, TokensAreThoseThatTheModelsFormulasGive) {
  AsrRunner runner(speech_path(), std::nullopt, letter_of);
  EXPECT_FALSE(runner.is_loaded());
  ASSERT_EQ(runner.load(), Error::Ok);
  EXPECT_TRUE(runner.is_loaded());
  for (const float value : {-1.5f, -0.25f, 0.0f, 0.5f}) {
    AsrTranscribeConfig config;
    config.max_new_tokens = 12;
    config.decoder_start_token_id = 2;
    std::string text;
    const auto tokens = runner.transcribe(features(value), config,
                                          [&](const std::string& piece) { text += piece; });
    ASSERT_EQ(tokens.error(), Error::Ok);
    EXPECT_EQ(*tokens, expected_tokens(value, 2, 12)) << value;
    std::string letters;
    for (size_t i = 1; i < tokens->size(); ++i) {
      letters += static_cast<char>('a' + (*tokens)[i]);
    }
    EXPECT_EQ(text, letters);
  }
}

TEST(AsrRunnerTest, TheTextEndsAtTheTokensThatTheCallerNames) {
  AsrRunner runner(speech_path(), std::nullopt);
  const std::vector<int64_t> all = expected_tokens(-1.5f, 2, 12);
  ASSERT_GT(all.size(), 3u);
  AsrTranscribeConfig config;
  config.max_new_tokens = 12;
  config.decoder_start_token_id = 2;
  config.eos_token_ids = {all[1]};
  const auto tokens = runner.transcribe(features(-1.5f), config);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(*tokens, (std::vector<int64_t>{2, all[1]}));
}

TEST(AsrRunnerTest, MethodsDoNotKeepInputsThatEndedWithTheTranscription) {
  AsrRunner runner(speech_path(), std::nullopt);
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double}) {
    ASSERT_TRUE(runner.transcribe(clone_tensor_ptr(features(0.5f), dtype)).ok());
    EXPECT_EQ(runner.module().execute("encoder").error(), Error::InvalidState);
    EXPECT_EQ(runner.module().execute("text_decoder").error(), Error::InvalidState);
  }
}

TEST(AsrRunnerTest, FeaturesAreConvertedToTheEncodersDtype) {
  AsrRunner runner(speech_path(), std::nullopt);
  AsrTranscribeConfig config;
  config.max_new_tokens = 5;
  const auto tokens =
      runner.transcribe(make_tensor_ptr({1, 4, 3}, std::vector<double>(12, 0.5)), config);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(*tokens, expected_tokens(0.5f, 0, 5));
}

TEST(AsrRunnerTest, ASeedDrawsTheSameTokensAgain) {
  AsrRunner runner(speech_path(), std::nullopt);
  AsrTranscribeConfig config;
  config.max_new_tokens = 10;
  config.temperature = 2.0f;
  config.seed = 5;
  config.eos_token_ids = {100};
  const auto first = runner.transcribe(features(0), config);
  const auto second = runner.transcribe(features(0), config);
  config.seed = 6;
  const auto other = runner.transcribe(features(0), config);
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_NE(*first, *other);
}

TEST(AsrRunnerTest, WrongArgumentsAreRefused) {
  AsrRunner runner(speech_path(), std::nullopt);
  EXPECT_EQ(runner.transcribe(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(runner.transcribe(features(0), {}, [](const std::string&) {}).error(),
            Error::InvalidArgument);
  for (const float temperature :
       {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    AsrTranscribeConfig config;
    config.temperature = temperature;
    EXPECT_EQ(runner.transcribe(features(0), config).error(), Error::InvalidArgument);
  }
  AsrTranscribeConfig none;
  none.max_new_tokens = 0;
  EXPECT_EQ(runner.transcribe(features(0), none).error(), Error::InvalidArgument);
  EXPECT_NE(runner.transcribe(make_tensor_ptr({1, 2}, {1.0f, 2.0f})).error(), Error::Ok);
  AsrTranscribeConfig beyond;
  beyond.decoder_start_token_id = kVocabulary;
  EXPECT_NE(runner.transcribe(features(0), beyond).error(), Error::Ok);
  EXPECT_TRUE(runner.transcribe(features(0)).ok());
}

TEST(AsrRunnerTest, ATokenWithoutTextIsAnError) {
  AsrRunner runner(speech_path(), std::nullopt,
                   [](uint64_t, uint64_t) -> Result<std::string> { return Error::NotFound; });
  EXPECT_EQ(runner.transcribe(features(0), {}, [](const std::string&) {}).error(), Error::NotFound);
}

TEST(AsrRunnerTest, ProgramsOfAnotherFormAreRefused) {
  AsrRunner other(std::string(TEST_DATA_DIR) + "/peer/add.pte", std::nullopt);
  EXPECT_EQ(other.load(), Error::InvalidArgument);
  EXPECT_FALSE(other.is_loaded());
  AsrRunner missing("/no/such/file.pte", std::nullopt);
  EXPECT_EQ(missing.load(), Error::NotFound);
  AsrRunner null(std::unique_ptr<Module>{});
  EXPECT_EQ(null.load(), Error::InvalidArgument);
}

TEST(AsrRunnerTest, ADecoderThatWritesToItsInputsIsRefused) {
  namespace testing = executorch::testing;
  testing::TestTensor position;
  position.type = testing::fb::ScalarType::LONG;
  position.sizes = {1};
  for (const uint32_t buffer : {0u, 1u}) {
    position.memory_id = buffer;
    testing::TestProgram program;
    program.plans.resize(2);
    for (testing::TestPlan& plan : program.plans) {
      plan.values = {testing::planned(2, 0)};
      plan.inputs = plan.outputs = {0};
    }
    testing::TestPlan& decoder = program.plans[1];
    program.plans[0].name = "encoder";
    decoder.name = "text_decoder";
    position.offset = 16;
    decoder.values.push_back(testing::tensor(position));
    decoder.inputs.push_back(1);
    decoder.operators = {{"aten::neg", "out"}};
    decoder.chains = {{testing::kernel(0, {1, 1, 1})}};
    const testing::ProgramFile bytes(program);
    const TempFile file(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    AsrRunner runner(file.path(), std::nullopt);
    EXPECT_EQ(runner.load(), buffer == 0 ? Error::InvalidProgram : Error::Ok);
  }
}

/// Has the interface of tokenizers::Tokenizer.
struct Letters {
  Result<std::string> decode(uint64_t previous, uint64_t token) const {
    return previous == token ? Result<std::string>(Error::NotFound) : letter_of(previous, token);
  }
};

TEST(TokenDecoderTest, ATokenizerDecodes) {
  const auto decode = executorch::extension::asr::decode_with(std::make_shared<Letters>());
  EXPECT_EQ(*decode(0, 2), "c");
  EXPECT_EQ(decode(2, 2).error(), Error::InvalidArgument);
}

/// A tokenizer of llama2.c, whose token i is the letter 'a' + i and whose token `end` ends texts.
std::string letters_tokenizer(int32_t end) {
  std::string file;
  const auto append = [&](auto value) {
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (const int32_t header : {static_cast<int32_t>(kVocabulary), 0, end, 1}) {
    append(header);
  }
  for (int64_t token = 0; token < kVocabulary; ++token) {
    append(0.0f);
    append(int32_t{1});
    file += static_cast<char>('a' + token);
  }
  return file;
}

TEST(AsrRunnerTest, ATokenizerFileDecodesAndEndsTheText) {
  const std::vector<int64_t> all = expected_tokens(-1.5f, 2, 12);
  ASSERT_GT(all.size(), 3u);
  const TempFile tokenizer(letters_tokenizer(static_cast<int32_t>(all[1])));
  AsrTranscribeConfig config;
  config.max_new_tokens = 12;
  config.decoder_start_token_id = 2;
  std::string text;
  const auto append = [&](const std::string& piece) { text += piece; };

  // The program has end tokens of its own.
  AsrRunner named(speech_path(), "", tokenizer.path());
  const auto all_found = named.transcribe(features(-1.5f), config, append);
  ASSERT_EQ(all_found.error(), Error::Ok);
  EXPECT_EQ(*all_found, all);
  EXPECT_EQ(text.size(), all.size() - 1);
  EXPECT_EQ(text[0], 'a' + all[1]);

  text.clear();
  AsrRunner unnamed(std::string(TEST_DATA_DIR) + "/speech/no_end.pte", "", tokenizer.path());
  const auto first_found = unnamed.transcribe(features(-1.5f), config, append);
  ASSERT_EQ(first_found.error(), Error::Ok);
  EXPECT_EQ(*first_found, (std::vector<int64_t>{2, all[1]}));
  EXPECT_EQ(text, std::string(1, static_cast<char>('a' + all[1])));
}

TEST(AsrRunnerTest, ATokenizerFileThatCannotBeReadIsRefused) {
  AsrRunner missing(speech_path(), std::nullopt, "/no/such/tokenizer.json");
  EXPECT_EQ(missing.load(), Error::InvalidArgument);
  EXPECT_FALSE(missing.is_loaded());
  const TempFile broken("{");
  AsrRunner unreadable(speech_path(), std::nullopt, broken.path());
  EXPECT_EQ(unreadable.transcribe(features(0)).error(), Error::InvalidArgument);
}

TEST(AsrRunnerTest, EmptyBracesInPlaceOfATokenizerAreAnEmptyPath) {
  AsrRunner runner(speech_path(), {}, {});
  EXPECT_EQ(runner.load(), Error::InvalidArgument);
}

TEST(AsrRunnerTest, ADecoderMayBeNull) {
  AsrRunner runner(speech_path(), {}, nullptr);
  EXPECT_EQ(runner.load(), Error::Ok);
}

TEST(AsrRunnerTest, AProgramWithoutEndTokensNeedsATokenizerOrAConfiguration) {
  AsrRunner runner(std::string(TEST_DATA_DIR) + "/speech/no_end.pte", std::nullopt);
  EXPECT_EQ(runner.transcribe(features(0)).error(), Error::InvalidArgument);
}

TEST(TokenChoiceTest, TheHighestLogitOfTheLastRowIsTaken) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TokenChoice choice(0, 0);
  EXPECT_EQ(*choice.choose(*make_tensor_ptr({1, 2, 3}, {9.0f, 0.0f, 0.0f, 1.0f, 3.0f, nan})), 1);
  EXPECT_EQ(*choice.choose(*make_tensor_ptr({1, 2}, {1.0f, 2.0f}, ScalarType::Half)), 1);
  EXPECT_EQ(choice.choose(*make_tensor_ptr({1, 2}, {nan, nan})).error(), Error::InvalidProgram);
  EXPECT_EQ(choice.choose(*make_tensor_ptr({1, 2}, {1, 2})).error(), Error::InvalidProgram);
  EXPECT_EQ(choice.choose(*make_tensor_ptr(1.0f)).error(), Error::InvalidProgram);
}

TEST(TokenChoiceTest, TokensAreDrawnWithTheProbabilitiesOfSoftmax) {
  TokenChoice choice(0.5f, 1);
  const TensorPtr logits = make_tensor_ptr({1, 3}, {0.0f, 0.5f, -INFINITY});
  int counts[3] = {};
  for (int i = 0; i < 4000; ++i) {
    ++counts[*choice.choose(*logits)];
  }
  EXPECT_NEAR(counts[1] / 4000.0, std::exp(1.0) / (1 + std::exp(1.0)), tolerance::kFrequency);
  EXPECT_EQ(counts[2], 0);
}

}  // namespace
