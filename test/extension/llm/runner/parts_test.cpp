// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// TextPrefiller and TextTokenGenerator on a decoder that counts, and states after failures.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

namespace llm = executorch::extension::llm;
using executorch::extension::make_tensor_ptr;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::Result;

/// The next token is the last one plus one; fails at a position.
class CountingDecoder final : public llm::TextDecoderRunner {
 public:
  CountingDecoder() : TextDecoderRunner(nullptr, nullptr) { signature_ = {2, false, 4, 100}; }
  Error load() override { return Error::Ok; }
  Result<executorch::aten::Tensor> step(TensorPtr& tokens, int64_t start_pos) override {
    const auto count = size_t(tokens->numel());
    calls.push_back({start_pos, count});
    if (start_pos == fails_at) return Error::Internal;
    if (stops) stop();
    std::vector<float> row(100);
    row[size_t(tokens->const_data_ptr<int64_t>()[count - 1] + 1)] = 1;
    logits_ = make_tensor_ptr({1, 100}, std::move(row));
    return *logits_;
  }

  std::vector<std::pair<int64_t, size_t>> calls;
  int64_t fails_at = -1;
  bool stops = false;

 private:
  TensorPtr logits_;
};

/// Token 65 is "A", and so on.
class LetterTokenizer : public tokenizers::Tokenizer {
 public:
  LetterTokenizer() {
    initialized_ = true;
    vocab_size_ = 100;
  }
  tokenizers::Error load(const std::string&) override { return tokenizers::Error::Ok; }
  tokenizers::Result<std::vector<uint64_t>> encode(const std::string& text, int8_t,
                                                   int8_t) const override {
    return std::vector<uint64_t>(text.begin(), text.end());
  }
  tokenizers::Result<std::string> decode(uint64_t, uint64_t token, bool) const override {
    return std::string(1, char(token));
  }
  tokenizers::Result<std::string> id_to_piece(uint64_t token) const override {
    return std::string(1, char(token));
  }
  tokenizers::Result<uint64_t> piece_to_id(const std::string& text) const override {
    return uint64_t(text[0]);
  }
};

class PartsTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  std::unique_ptr<llm::TextTokenGenerator> generator(std::unordered_set<uint64_t> ends = {}) {
    return std::make_unique<llm::TextTokenGenerator>(
        &tokenizer_, &decoder_, true,
        std::make_unique<std::unordered_set<uint64_t>>(std::move(ends)), &stats_);
  }

  CountingDecoder decoder_;
  LetterTokenizer tokenizer_;
  llm::Stats stats_;
};

TEST_F(PartsTest, PrefillRunsChunksThatTheMethodTakes) {
  using Calls = std::vector<std::pair<int64_t, size_t>>;
  std::vector<uint64_t> tokens = {10, 11, 12, 13, 14, 15};
  int64_t position = 3;
  EXPECT_EQ(*llm::TextPrefiller(&decoder_, true, true, 128).prefill(tokens, position), 16u);
  EXPECT_EQ(position, 9);
  EXPECT_EQ(decoder_.calls, (Calls{{3, 4}, {7, 2}}));
  decoder_.calls.clear();
  position = 0;
  tokens = {10, 11};
  EXPECT_EQ(*llm::TextPrefiller(&decoder_, true, false, 128).prefill(tokens, position), 12u);
  EXPECT_EQ(decoder_.calls, (Calls{{0, 1}, {1, 1}}));
  tokens.clear();
  EXPECT_EQ(llm::TextPrefiller(&decoder_, true, true).prefill(tokens, position).error(),
            Error::InvalidArgument);
}

TEST_F(PartsTest, PrefillDrawsTheNextTokenAtATemperature) {
  llm::TextPrefiller prefiller(&decoder_, true, true, 2);
  std::set<uint64_t> drawn;
  for (int i = 0; i < 50; ++i) {
    std::vector<uint64_t> tokens = {10, 11, 12};
    int64_t position = 0;
    EXPECT_EQ(*prefiller.prefill(tokens, position, 0.001f), 13u);
    EXPECT_EQ(position, 3);
    position = 0;
    drawn.insert(*prefiller.prefill_chunk(tokens, position, 1e6f));
  }
  EXPECT_GT(drawn.size(), 5u);
}

/// Counts the chunks and leaves positions alone, as a mock does.
class ChunkCounter final : public llm::TextPrefiller {
 public:
  using TextPrefiller::TextPrefiller;
  Result<uint64_t> prefill_chunk(std::vector<uint64_t>& tokens, int64_t& start_pos) override {
    chunks.push_back({start_pos, tokens.size()});
    if (chunks.size() == fails_at) return Error::NotSupported;
    return tokens.back();
  }

  std::vector<std::pair<int64_t, size_t>> chunks;
  size_t fails_at = 0;
};

TEST_F(PartsTest, PrefillCallsAnOverrideForEveryChunk) {
  CountingDecoder decoder;
  ChunkCounter prefiller(&decoder, true, false, 3);
  std::vector<uint64_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  int64_t position = 0;
  const auto token = prefiller.prefill(tokens, position);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(*token, 8u);
  EXPECT_EQ(position, 8);
  EXPECT_EQ(prefiller.chunks, (std::vector<std::pair<int64_t, size_t>>{{0, 3}, {3, 3}, {6, 2}}));
  prefiller.chunks.clear();
  prefiller.fails_at = 2;
  EXPECT_EQ(prefiller.prefill(tokens, position).error(), Error::NotSupported);
  EXPECT_EQ(position, 11) << "after the first chunk";
}

/// Records its tokens.
class RecordingDecoder final : public llm::MultimodalDecoderRunner {
 public:
  RecordingDecoder() : MultimodalDecoderRunner(nullptr, nullptr) {}
  Error load() override { return Error::Ok; }
  Result<executorch::aten::Tensor> step(TensorPtr& tokens, int64_t) override {
    const auto* const first = tokens->const_data_ptr<int64_t>();
    steps.emplace_back(first, first + tokens->numel());
    return *logits_;
  }

  std::vector<std::vector<int64_t>> steps;

 private:
  TensorPtr logits_ = make_tensor_ptr({1, 3}, std::vector<float>{0, 1, 0});
};

/// Encodes a text as its numbers of added tokens.
class AddedTokensTokenizer final : public LetterTokenizer {
 public:
  tokenizers::Result<std::vector<uint64_t>> encode(const std::string&, int8_t bos,
                                                   int8_t eos) const override {
    return std::vector<uint64_t>{uint64_t(bos), uint64_t(eos)};
  }
};

TEST_F(PartsTest, AMultimodalPrefillAddsTokensAroundText) {
  RecordingDecoder decoder;
  AddedTokensTokenizer tokenizer;
  llm::MultimodalPrefiller prefiller(nullptr, &decoder, &tokenizer, nullptr);
  int64_t position = 4;
  EXPECT_EQ(*prefiller.prefill(llm::make_text_input("text"), position, 2, 1), 1u);
  EXPECT_EQ(position, 6);
  EXPECT_EQ(*prefiller.prefill(llm::make_text_input("text"), position), 1u);
  EXPECT_EQ(*prefiller.prefill(llm::make_token_input({7, 8, 9}), position, 2, 1), 1u);
  EXPECT_EQ(position, 11);
  EXPECT_EQ(decoder.steps, (std::vector<std::vector<int64_t>>{{2, 1}, {0, 0}, {7, 8, 9}}));
}

/// Records how many positions a decoder runs at once, and fails.
class FailingIO final : public llm::IOManager {
 public:
  using IOManager::IOManager;
  Result<std::vector<executorch::runtime::EValue>> prepare_prefill(const TensorPtr& input,
                                                                   const TensorPtr&,
                                                                   const std::string&) override {
    counts.push_back(input->size(1));
    return Error::NotSupported;
  }
  Result<std::vector<executorch::runtime::EValue>> prepare_decode(
      const TensorPtr& input, const TensorPtr& positions, const std::string& method) override {
    return prepare_prefill(input, positions, method);
  }

  std::vector<ssize_t> counts;
};

/// A decoder without a known limit of tokens.
class UnlimitedDecoder final : public llm::MultimodalDecoderRunner {
 public:
  using MultimodalDecoderRunner::MultimodalDecoderRunner;
  Error load() override { return Error::Ok; }
};

TEST_F(PartsTest, ADecoderWithoutALimitRunsAllEmbeddingsAtOnce) {
  executorch::extension::Module module("no such program.pte");
  FailingIO io(module);
  UnlimitedDecoder decoder(&module, &io);
  const TensorPtr embeddings = make_tensor_ptr({1, 3, 2}, std::vector<float>(6));
  EXPECT_EQ(decoder.decode(*embeddings, 0).error(), Error::NotSupported);
  EXPECT_EQ(io.counts, (std::vector<ssize_t>{3}));
}

TEST_F(PartsTest, PositionsThatNoCacheHasAreRefused) {
  executorch::extension::Module module("no such program.pte");
  FailingIO io(module);
  UnlimitedDecoder multimodal(&module, &io);
  llm::TextDecoderRunner text(&module, &io);
  const TensorPtr embeddings = make_tensor_ptr({1, 1, 2}, std::vector<float>(2));
  for (const int64_t wrong : {int64_t{-1}, int64_t{1} << 31, INT64_MAX}) {
    std::vector<uint64_t> tokens = {10, 11};
    int64_t position = wrong;
    llm::TextPrefiller prefiller(&decoder_, true, true, 1);
    EXPECT_EQ(prefiller.prefill(tokens, position).error(), Error::InvalidArgument);
    EXPECT_EQ(prefiller.prefill_chunk(tokens, position).error(), Error::InvalidArgument);
    EXPECT_EQ(position, wrong);
    EXPECT_EQ(generator()->generate({'A'}, wrong, 2).error(), Error::InvalidArgument);
    EXPECT_EQ(multimodal.decode(*embeddings, wrong).error(), Error::InvalidArgument);
    TensorPtr one = make_tensor_ptr({1, 1}, std::vector<int64_t>{1});
    EXPECT_EQ(text.step(one, wrong).error(), Error::InvalidArgument);
  }
  EXPECT_TRUE(decoder_.calls.empty());
  EXPECT_TRUE(io.counts.empty());
}

TEST_F(PartsTest, EmbeddingsWhoseRowsAreNotContiguousAreRefused) {
  executorch::extension::Module module("no such program.pte");
  FailingIO io(module);
  UnlimitedDecoder multimodal(&module, &io);
  const TensorPtr columns = make_tensor_ptr({1, 2, 3}, std::vector<float>(6), {0, 2, 1});
  EXPECT_EQ(multimodal.decode(*columns, 0).error(), Error::InvalidArgument);
  EXPECT_TRUE(io.counts.empty());
}

TEST_F(PartsTest, StopEndsAPrefillBetweenChunks) {
  std::vector<uint64_t> tokens = {10, 11, 12, 13, 14, 15};
  int64_t position = 0;
  decoder_.stops = true;
  EXPECT_EQ(llm::TextPrefiller(&decoder_, true, true).prefill(tokens, position).error(),
            Error::InvalidState);
  EXPECT_EQ(position, 4);
}

TEST_F(PartsTest, GenerationEndsAtTokensTextsAndLimits) {
  std::string text;
  const auto collect = [&](const std::string& piece) { text += piece; };
  EXPECT_EQ(*generator()->generate({'A'}, 0, 3, 0.0f, collect), 3);
  EXPECT_EQ(text, "BCD");
  text.clear();
  EXPECT_EQ(*generator({'C'})->generate({'A'}, 0, 9, 0.0f, collect), 2);
  EXPECT_EQ(text, "B");
  text.clear();
  const auto ignoring = generator({'C'});
  ignoring->set_ignore_eos(true);
  ignoring->set_stop_strings({"DE"});
  EXPECT_EQ(*ignoring->generate({'A'}, 0, 9, 0.0f, collect), 4);
  EXPECT_EQ(text, "BCDE");
  EXPECT_EQ(generator()->generate({}, 0, 1).error(), Error::InvalidArgument);
  EXPECT_EQ(generator()->generate({'A'}, 0, 1, -1.0f).error(), Error::InvalidArgument);
}

TEST_F(PartsTest, AnErrorOfTheDecoderEndsTheGeneration) {
  decoder_.fails_at = 2;
  EXPECT_EQ(generator()->generate({'A'}, 0, 9).error(), Error::Internal);
}

TEST_F(PartsTest, RollbackMarksOverwrittenEntriesAsPending) {
  llm::TextState state{{1, 2, 3, 4}, 1, 3};
  {
    llm::Rollback rollback(state, 0);
    state = {{1, 7}, 0, 2};
    rollback.overwrites(1);
  }
  EXPECT_EQ(state.tokens, (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(state.position, 1);
  EXPECT_EQ(state.pending, 3u);
  {
    llm::Rollback rollback(state, 8);
    state.position = 12;  // a ring of 8 entries lost the first ones
  }
  EXPECT_EQ(state.position, 0);
  EXPECT_EQ(state.pending, 4u);
  {
    llm::Rollback rollback(state, 0);
    state.tokens.push_back(9);
    rollback.keep();
  }
  EXPECT_EQ(state.tokens.size(), 5u);
}

TEST_F(PartsTest, RequestsOutOfRangeAreRefused) {
  llm::GenerationConfig config;
  config.num_bos = 128;
  EXPECT_EQ(llm::sampling_options(config, -1).error(), Error::InvalidArgument);
  config = {};
  config.grammar = "root ::= [0-9]+";
  EXPECT_EQ(llm::sampling_options(config, -1).error(), Error::NotSupported);
  EXPECT_EQ(llm::sampling_options({}, 0.25f)->temperature, 0.25f);
  EXPECT_EQ(llm::count_new_tokens({}, 8, 9).error(), Error::InvalidArgument);
  EXPECT_EQ(*llm::count_new_tokens({}, int64_t{1} << 33, int64_t{1} << 32), INT32_MAX);
  EXPECT_EQ(llm::encode_text(tokenizer_, "z", 0, 0, 100).error(), Error::InvalidArgument);
  EXPECT_EQ(llm::create_text_llm_runner("nowhere.pte", nullptr), nullptr);
  EXPECT_EQ(llm::create_multimodal_runner("nowhere.pte", nullptr), nullptr);
}

TEST_F(PartsTest, InputsHaveOneTypeAndTensorsOfTheirSizes) {
  const auto image = llm::make_image_input(llm::Image(std::vector<uint8_t>(12), 2, 2, 3));
  EXPECT_TRUE(image.is_image());
  EXPECT_EQ(image.get_type(), llm::MultimodalInput::Type::IMAGE);
  EXPECT_EQ(image.try_get_text(), nullptr);
  EXPECT_EQ((*image.get_image().toTensor(true))->dim(), 4);
  EXPECT_EQ(llm::Image(std::vector<float>(11), 2, 2, 3).toTensor().error(), Error::InvalidArgument);
  EXPECT_EQ((llm::RawAudio{std::vector<uint8_t>(6), 1, 2, 4}).toTensor().error(),
            Error::InvalidArgument);
  EXPECT_STREQ(llm::make_text_input("a").type_name(), "text");
}

// make_tensor_ptr() ends the process for strides of more than 31 bits. Nothing reads the numbers.
TEST_F(PartsTest, MoreNumbersThanATensorHasAreRefused) {
  using executorch::aten::ScalarType;
  constexpr int32_t kSide = 1 << 16;
  const uint8_t byte = 0;
  for (const bool with_batch : {false, true}) {
    const auto tensor = [&](int32_t first, int32_t second) {
      const size_t count = size_t(first) * size_t(second) * kSide;
      return llm::internal::tensor_over("audio", &byte, count, ScalarType::Byte,
                                        {first, second, kSide}, with_batch);
    };
    EXPECT_EQ(tensor(2, kSide).error(), Error::InvalidArgument);
    EXPECT_EQ(tensor(1, kSide).error(), Error::InvalidArgument);
    EXPECT_EQ(tensor(4, kSide / 4).error(), with_batch ? Error::InvalidArgument : Error::Ok);
    EXPECT_EQ(tensor(4, kSide / 16).error(), Error::Ok);
  }
}

TEST_F(PartsTest, ImagesAreCopiesOfTensorsInAnyDimOrder) {
  // [2, 1, 3], channels last
  const TensorPtr pixels =
      make_tensor_ptr({2, 1, 3}, std::vector<float>{0, 3, 1, 4, 2, 5}, {1, 2, 0}, {1, 6, 2});
  const Result<llm::Image> image = llm::Image::from_tensor(pixels);
  ASSERT_EQ(image.error(), Error::Ok);
  EXPECT_EQ(image->channels(), 2);
  EXPECT_EQ(image->height(), 1);
  EXPECT_EQ(image->width(), 3);
  EXPECT_EQ(image->get_float_data(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  uint8_t two[] = {7, 8};
  const llm::Image bytes(
      executorch::extension::from_blob(two, {1, 1, 2}, executorch::aten::ScalarType::Byte));
  EXPECT_EQ(bytes.get_uint8_data(), (std::vector<uint8_t>{7, 8}));
}

TEST_F(PartsTest, TensorsThatAreNoImagesAreRefused) {
  using executorch::aten::ScalarType;
  using executorch::extension::from_blob;
  const TensorPtr wrong[] = {
      nullptr,
      make_tensor_ptr({2, 3}, std::vector<float>(6)),
      make_tensor_ptr({1, 2, 3}, std::vector<int32_t>(6)),
      make_tensor_ptr({1, 0, 3}, std::vector<float>()),
      from_blob(nullptr, {1, 2, 3}, ScalarType::Float),
  };
  for (const TensorPtr& tensor : wrong) {
    EXPECT_EQ(llm::Image::from_tensor(tensor).error(), Error::InvalidArgument);
    EXPECT_EQ(llm::Image(tensor).toTensor().error(), Error::InvalidArgument);
  }
}

TEST_F(PartsTest, InputsCanBeChangedAndMovedOut) {
  auto text = llm::make_text_input("a");
  text.get_text() += "b";
  *text.try_get_text() += "c";
  EXPECT_EQ(std::move(text).get_text(), "abc");
  auto tokens = llm::make_token_input({1, 2});
  tokens.get_tokens().push_back(6);
  EXPECT_EQ(std::move(tokens).get_tokens(), (std::vector<uint64_t>{1, 2, 6}));
}

TEST_F(PartsTest, AnImageIsMadeOfATensorAndBack) {
  const TensorPtr pixels = make_tensor_ptr({1, 2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const llm::Image image(pixels);
  EXPECT_EQ(image.channels(), 1);
  EXPECT_EQ(image.height(), 2);
  EXPECT_EQ(image.width(), 3);
  EXPECT_EQ(image.copy_float_data(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(image.tensor()->numel(), 6);
  EXPECT_NE(image.tensor()->const_data_ptr(), pixels->const_data_ptr());
}

TEST_F(PartsTest, StatsHaveTheirOlderNames) {
  executorch::llm::Stats stats;
  stats.on_model_execution_begin();
  stats.on_model_execution_end();
  EXPECT_LE(stats.model_execution_start_ms, stats.model_execution_end_ms);
  EXPECT_EQ(llm::stats_to_json_string(stats), stats.to_json_string());
}

TEST_F(PartsTest, TheTokenizersTokenEndsTextsOfProgramsThatCannotBeRead) {
  executorch::extension::Module module("no such program.pte");
  EXPECT_FALSE(llm::read_eos_ids(&tokenizer_, &module).ok());
  EXPECT_EQ(llm::get_eos_ids(&tokenizer_, &module),
            std::unordered_set<uint64_t>{tokenizer_.eos_tok()});
}

}  // namespace
