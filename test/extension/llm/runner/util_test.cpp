// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/util.h>
#include <executorch/extension/llm/runner/wav_loader.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/testing_util/temp_file.h>
#include <pytorch/tokenizers/result.h>

#include "runtime/log_capture.h"
#include "test_paths.h"

namespace {

using executorch::aten::ScalarType;
using executorch::extension::make_tensor_ptr;
using executorch::extension::llm::convert_to_bfloat16;
using executorch::extension::llm::kOneOverIntMax;
using executorch::extension::llm::kOneOverShortMax;
using executorch::extension::llm::load_wav_audio_data;
using executorch::extension::llm::load_wav_header;
using executorch::extension::llm::read_wav_audio_data;
using executorch::extension::testing::TempFile;
using executorch::runtime::Error;

TEST(ConvertTest, Float32BecomesBfloat16) {
  const auto converted =
      convert_to_bfloat16(make_tensor_ptr({2, 2}, std::vector<float>{0.0f, 1.5f, -2.0f, 3.25f}));
  ASSERT_TRUE(converted.ok());
  EXPECT_EQ((*converted)->scalar_type(), ScalarType::BFloat16);
  EXPECT_EQ(static_cast<float>((*converted)->const_data_ptr<executorch::aten::BFloat16>()[3]),
            3.25f);
  EXPECT_EQ(convert_to_bfloat16(make_tensor_ptr({1}, std::vector<int64_t>{1})).error(),
            Error::InvalidArgument);
  EXPECT_EQ(convert_to_bfloat16(nullptr).error(), Error::InvalidArgument);
}

TEST(PositionsTest, AMethodGetsItsFirstPositionOrAll) {
  using executorch::extension::llm::populate_start_pos_or_cache_position;
  const std::string folder = std::string(TEST_DATA_DIR) + "/peer/";
  executorch::extension::Module all(folder + "add.pte");  // the second input has sizes [2, 3]
  int64_t start = 5;
  std::vector<int64_t> positions;
  const auto three = populate_start_pos_or_cache_position(&all, start, positions, 3);
  ASSERT_TRUE(three.ok());
  EXPECT_EQ((*three)->const_data_ptr(), positions.data());
  EXPECT_EQ(positions, (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(populate_start_pos_or_cache_position(&all, start, positions, -1).error(),
            Error::InvalidArgument);
  EXPECT_EQ(populate_start_pos_or_cache_position(&all, start, positions, 3, "decode").error(),
            Error::InvalidArgument);
}

Error unwrap(tokenizers::Result<int> result, int* value) {
  *value = ET_UNWRAP_TOKENIZER(std::move(result));
  return Error::Ok;
}

Error check(tokenizers::Error error) {
  ET_CHECK_TK_OK_OR_RETURN_ERROR(error, "encoding %s", "text");
  return Error::Ok;
}

TEST(TokenizerErrorTest, TheyBecomeInvalidArgument) {
  int value = -1;
  EXPECT_EQ(unwrap(tokenizers::Error::EncodeFailure, &value), Error::InvalidArgument);
  EXPECT_EQ(value, -1);
  EXPECT_EQ(unwrap(7, &value), Error::Ok);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(check(tokenizers::Error::Ok), Error::Ok);
  EXPECT_EQ(check(tokenizers::Error::OutOfRange), Error::InvalidArgument);
}

TEST(SafePrintfTest, ControlCharactersAreNotPrinted) {
  testing::internal::CaptureStdout();
  for (const char* const piece : {"a", "\x01", "", "\n", "\xe2\x82\xac"}) {
    executorch::extension::llm::safe_printf(piece);
  }
  executorch::extension::llm::safe_printf(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a\n\xe2\x82\xac");
  EXPECT_GT(executorch::extension::llm::get_rss_bytes(), 0u);
}

void append(std::string& text, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i));
  }
}

/// A WAV file of one channel, with a chunk before its samples that players ignore.
std::string wav_file(uint16_t format, uint16_t bits, const std::vector<uint32_t>& samples,
                     uint32_t missing = 0) {
  std::string data;
  for (const uint32_t sample : samples) {
    append(data, sample, bits / 8);
  }
  std::string text = "RIFF";
  append(text, static_cast<uint32_t>(48 + data.size()), 4);
  text += "WAVEfmt ";
  append(text, 16, 4);
  append(text, format, 2);
  append(text, 1, 2);
  append(text, 16000, 4);
  append(text, 16000u * bits / 8, 4);
  append(text, bits / 8, 2);
  append(text, bits, 2);
  text += "LIST";
  append(text, 3, 4);
  text += "ab";
  text += std::string("c\0", 2);
  text += "data";
  append(text, static_cast<uint32_t>(data.size() + missing), 4);
  return text + data;
}

TEST(WavTest, SamplesOfEveryFormatAreFromMinusOneToOne) {
  const TempFile shorts(wav_file(1, 16, {0, 32767, 0x8000}));
  const auto header = load_wav_header(shorts.path());
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->NumOfChan, 1);
  EXPECT_EQ(header->SamplesPerSec, 16000u);
  EXPECT_EQ(header->bitsPerSample, 16);
  EXPECT_EQ(header->dataOffset, 56u);
  EXPECT_EQ(header->Subchunk2Size, 6u);
  EXPECT_EQ(load_wav_audio_data(shorts.path()),
            (std::vector<float>{0, 32767 * kOneOverShortMax, -32768 * kOneOverShortMax}));

  const TempFile ints(wav_file(1, 32, {0x7fffffff, 0x80000000}));
  EXPECT_EQ(load_wav_audio_data(ints.path()),
            (std::vector<float>{static_cast<float>(2147483647.0 * double{kOneOverIntMax}),
                                static_cast<float>(-2147483648.0 * double{kOneOverIntMax})}));

  const TempFile floats(wav_file(3, 32, {0x3f000000, 0xbf800000}));
  EXPECT_EQ(load_wav_audio_data(floats.path()), (std::vector<float>{0.5f, -1.0f}));
}

TEST(WavTest, OtherFilesHaveNoHeader) {
  const std::string whole = wav_file(1, 16, {1});
  EXPECT_EQ(load_wav_header(whole.data(), 55), nullptr) << "without the size of the data";
  for (size_t size = 0; size < 48; ++size) {
    EXPECT_EQ(load_wav_header(whole.data(), size), nullptr) << size;
  }
  EXPECT_EQ(load_wav_header(TempFile("not a wav file").path()), nullptr);
}

/// The samples' error, which the log explains; load_wav_audio_data() gives no samples.
Error refusal(const std::string& path, const char* message) {
  const LogCapture log;
  EXPECT_EQ(load_wav_audio_data(path), std::vector<float>());
  const Error error = read_wav_audio_data(path).error();
  EXPECT_TRUE(log.contains(message)) << log.text();
  return error;
}

TEST(WavTest, SamplesOfOtherFormatsAreRefused) {
  const TempFile law(wav_file(6, 16, {1}));
  EXPECT_EQ(refusal(law.path(), "Unsupported audio format"), Error::NotSupported);
  const TempFile bytes(wav_file(1, 8, {1}));
  EXPECT_EQ(refusal(bytes.path(), "Unsupported bits per sample"), Error::NotSupported);
  const TempFile cut(wav_file(1, 16, {1}, 2));
  EXPECT_EQ(refusal(cut.path(), "has 2 bytes of samples, its header says 4"),
            Error::InvalidExternalData);
  EXPECT_EQ(refusal(TempFile("not a wav file").path(), "WAV header not detected"),
            Error::InvalidExternalData);
}

TEST(WavTest, FilesThatCannotBeReadAreRefused) {
  for (const char* path : {"/nowhere.wav", "/dev/zero", "/"}) {
    EXPECT_EQ(load_wav_header(path), nullptr);
    EXPECT_EQ(refusal(path, "Failed to open WAV file"), Error::AccessFailed);
  }
}

TEST(WavTest, AFileThatIsTooLargeForTheMemoryIsRefusedBeforeItIsRead) {
  const TempFile sparse("RIFF");
  std::error_code failed;
  std::filesystem::resize_file(sparse.path(), uintmax_t{1} << 42, failed);
  if (failed) GTEST_SKIP() << "no file of 4 TB: " << failed.message();
  EXPECT_EQ(refusal(sparse.path(), "bytes, expected at most"), Error::MemoryAllocationFailed);
}

}  // namespace
