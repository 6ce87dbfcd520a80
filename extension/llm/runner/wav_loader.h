// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Samples of WAV files as numbers from -1 to 1, for models of audio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

inline constexpr uint16_t kWavFormatPcm = 1;
inline constexpr uint16_t kWavFormatIeeeFloat = 3;
inline constexpr float kOneOverIntMax = 1.0f / static_cast<float>(INT32_MAX);
inline constexpr float kOneOverShortMax = 1.0f / static_cast<float>(INT16_MAX);

/// Header fields of a WAV file, named as in the description of the format.
struct WavHeader {
  uint8_t RIFF[4];
  uint32_t ChunkSize;
  uint8_t WAVE[4];
  uint8_t fmt[4];
  uint32_t Subchunk1Size;
  uint16_t AudioFormat;
  uint16_t NumOfChan;
  uint32_t SamplesPerSec;
  uint32_t bytesPerSec;
  uint16_t blockAlign;
  uint16_t bitsPerSample;
  /// Offset of the samples in the file, and their size in bytes.
  uint32_t dataOffset;
  uint32_t Subchunk2Size;
};

namespace internal {

/// An unsigned number of the file, which is little-endian.
template <typename T>
T wav_number(const char* data) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= uint32_t{static_cast<uint8_t>(data[i])} << (8 * i);
  }
  return static_cast<T>(value);
}

/// The bytes of a file. AccessFailed if it cannot be read, or is a FIFO or a device;
/// MemoryAllocationFailed if it and its samples, which have up to twice its bytes, take more than
/// memory_limit().
inline runtime::Result<std::vector<char>> wav_file(const std::string& path) {
  std::error_code error;
  std::ifstream file;
  std::uintmax_t size = 0;
  if (std::filesystem::is_regular_file(path, error)) {
    size = std::filesystem::file_size(path, error);
    if (!error) file.open(path, std::ios::binary);
  }
  ET_CHECK_OR_RETURN_ERROR(file.is_open(), AccessFailed, "Failed to open WAV file: %s",
                           path.c_str());
  ET_CHECK_OR_RETURN_ERROR(size <= memory_limit() / 3, MemoryAllocationFailed,
                           "WAV file %s has %ju bytes, expected at most %zu", path.c_str(), size,
                           memory_limit() / 3);
  std::vector<char> bytes(static_cast<size_t>(size));
  ET_CHECK_OR_RETURN_ERROR(file.read(bytes.data(), static_cast<std::streamsize>(size)),
                           AccessFailed, "Failed to read WAV file: %s", path.c_str());
  return bytes;
}

}  // namespace internal

/// The header in the bytes of a WAV file; nullptr for other bytes, or if a chunk is missing.
inline std::unique_ptr<WavHeader> load_wav_header(const char* data, size_t data_size) {
  if (data_size < 12 || std::memcmp(data, "RIFF", 4) != 0 ||
      std::memcmp(data + 8, "WAVE", 4) != 0) {
    return nullptr;
  }
  auto header = std::make_unique<WavHeader>();
  std::memcpy(header->RIFF, data, 4);
  header->ChunkSize = internal::wav_number<uint32_t>(data + 4);
  std::memcpy(header->WAVE, data + 8, 4);
  bool has_format = false;
  // Chunks: four letters, the size of the contents, the contents, a byte of padding if that is odd.
  for (size_t offset = 12; data_size - offset >= 8;) {
    const char* const contents = data + offset + 8;
    const uint32_t size = internal::wav_number<uint32_t>(data + offset + 4);
    if (std::memcmp(data + offset, "data", 4) == 0 && has_format) {
      if (offset + 8 > UINT32_MAX) {
        break;
      }
      header->dataOffset = static_cast<uint32_t>(offset + 8);
      header->Subchunk2Size = size;
      return header;
    }
    const size_t left = data_size - offset - 8;
    if (std::memcmp(data + offset, "fmt ", 4) == 0 && size >= 16 && left >= 16) {
      std::memcpy(header->fmt, data + offset, 4);
      header->Subchunk1Size = size;
      header->AudioFormat = internal::wav_number<uint16_t>(contents);
      header->NumOfChan = internal::wav_number<uint16_t>(contents + 2);
      header->SamplesPerSec = internal::wav_number<uint32_t>(contents + 4);
      header->bytesPerSec = internal::wav_number<uint32_t>(contents + 8);
      header->blockAlign = internal::wav_number<uint16_t>(contents + 12);
      header->bitsPerSample = internal::wav_number<uint16_t>(contents + 14);
      has_format = true;
    }
    if (size >= left) {
      break;
    }
    const size_t padded = size_t{size} + size % 2;
    offset += 8 + (padded < left ? padded : left);
  }
  ET_LOG(Error, "WAV file without %s chunk", has_format ? "a data" : "a fmt");
  return nullptr;
}

/// The header of a WAV file; nullptr, after a log message, for a file that cannot be read, and for
/// another file.
inline std::unique_ptr<WavHeader> load_wav_header(const std::string& path) {
  const runtime::Result<std::vector<char>> file = internal::wav_file(path);
  return file.ok() ? load_wav_header(file->data(), file->size()) : nullptr;
}

/// The samples of a WAV file (PCM of 16 or 32 bits, float32), channels interleaved.
/// @retval Error::AccessFailed The file cannot be read.
/// @retval Error::MemoryAllocationFailed The file is too large for the machine's memory.
/// @retval Error::InvalidExternalData The file is not a WAV file, or ends before its samples.
/// @retval Error::NotSupported The samples have another format.
inline runtime::Result<std::vector<float>> read_wav_audio_data(const std::string& path) {
  const std::vector<char> file = ET_UNWRAP(internal::wav_file(path));
  const std::unique_ptr<WavHeader> header = load_wav_header(file.data(), file.size());
  ET_CHECK_OR_RETURN_ERROR(header != nullptr, InvalidExternalData,
                           "WAV header not detected in file: %s", path.c_str());
  const unsigned format = header->AudioFormat;
  const unsigned bits = header->bitsPerSample;
  ET_CHECK_OR_RETURN_ERROR(format == kWavFormatPcm || format == kWavFormatIeeeFloat, NotSupported,
                           "Unsupported audio format: 0x%04X, expected 1 (PCM) or 3 (float)",
                           format);
  ET_CHECK_OR_RETURN_ERROR(bits == 32 || (bits == 16 && format == kWavFormatPcm), NotSupported,
                           "Unsupported bits per sample: %u, expected 16 (PCM) or 32", bits);
  ET_CHECK_OR_RETURN_ERROR(header->Subchunk2Size <= file.size() - header->dataOffset,
                           InvalidExternalData,
                           "WAV file %s has %zu bytes of samples, its header says %u", path.c_str(),
                           file.size() - header->dataOffset, unsigned{header->Subchunk2Size});
  const char* const data = file.data() + header->dataOffset;
  std::vector<float> samples(header->Subchunk2Size / (bits / 8));
  for (size_t i = 0; i < samples.size(); ++i) {
    if (bits == 16) {
      const auto sample = static_cast<int16_t>(internal::wav_number<uint16_t>(data + 2 * i));
      samples[i] = static_cast<float>(double{kOneOverShortMax} * sample);
      continue;
    }
    const uint32_t sample = internal::wav_number<uint32_t>(data + 4 * i);
    if (format == kWavFormatIeeeFloat) {
      std::memcpy(&samples[i], &sample, sizeof sample);
    } else {
      samples[i] = static_cast<float>(double{kOneOverIntMax} * static_cast<int32_t>(sample));
    }
  }
  return samples;
}

/// The same as ExecuTorch 1.4 declares it, without a place for an error: empty, after a log
/// message, where read_wav_audio_data() returns one.
inline std::vector<float> load_wav_audio_data(const std::string& path) {
  runtime::Result<std::vector<float>> samples = read_wav_audio_data(path);
  return samples.ok() ? std::move(*samples) : std::vector<float>();
}

}  // namespace executorch::extension::llm
