// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Names of the methods that runners use.
#pragma once

namespace executorch::extension::llm {

// Constant methods.
inline constexpr auto kEnableDynamicShape = "enable_dynamic_shape";
inline constexpr auto kBosId = "get_bos_id";
inline constexpr auto kEosIds = "get_eos_ids";
inline constexpr auto kMaxSeqLen = "get_max_seq_len";
inline constexpr auto kMaxContextLen = "get_max_context_len";
inline constexpr auto kVocabSize = "get_vocab_size";
inline constexpr auto kNumLayers = "get_n_layers";
inline constexpr auto kUseKVCache = "use_kv_cache";
inline constexpr auto kUseSDPAWithKVCache = "use_sdpa_with_kv_cache";
/// Positions that a ring cache holds; 0: the cache holds the whole context.
inline constexpr auto kSlidingWindow = "sliding_window";

/// The method of text programs.
inline constexpr auto kForwardMethod = "forward";

// Methods of multimodal programs.
inline constexpr auto kVisionEncoderMethod = "vision_encoder";
inline constexpr auto kAudioEncoderMethod = "audio_encoder";
inline constexpr auto kTokenEmbeddingMethod = "token_embedding";
inline constexpr auto kTextModelMethod = "text_decoder";

}  // namespace executorch::extension::llm
