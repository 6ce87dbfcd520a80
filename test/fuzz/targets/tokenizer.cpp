// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tokenizer files of every format: opened, text encoded, all tokens decoded.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include <executorch/extension/llm/tokenizers/open_tokenizer.h>

#include "fuzz/engine/features.h"

using namespace executorch::fuzz;
using tokenizers::internal::open_tokenizer;

namespace {

std::string scratch_file() {
  const char* const folder = std::getenv("TMPDIR");
  return std::string(folder == nullptr ? "/tmp" : folder) + "/fuzzed_tokenizer." +
         std::to_string(getpid());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  start();
  static const std::string path = scratch_file();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), std::streamsize(size));
  const auto opened = open_tokenizer(path, {});
  note_feature(uint64_t(opened.error()));
  if (!opened.ok()) return 0;
  const tokenizers::Tokenizer& tokenizer = **opened;
  static const std::string texts[] = {
      "",
      " ",
      "hello  w\xC3\xB6rld <s>\n\t 12345",
      "\xFF\xFE broken",
      std::string("\0 null", 6),
      "\xE2\x96\x81 \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80\xCC\x81",
      std::string(reinterpret_cast<const char*>(data), std::min<size_t>(size, 200))};
  for (const std::string& text : texts) {
    const auto tokens = tokenizer.encode(text, 1, 1);
    note_feature(100 + uint64_t(tokens.error()));
    if (!tokens.ok()) continue;
    note_feature(1000 + tokens->size());
    uint64_t previous = tokenizer.bos_tok();
    for (const uint64_t token : *tokens) {
      const auto piece = tokenizer.decode(previous, token);
      note_feature(200 + uint64_t(piece.error()));
      previous = token;
    }
  }
  const uint64_t most = std::min<uint64_t>(uint64_t(tokenizer.vocab_size()) + 2, 2000);
  for (uint64_t token = 0; token < most; ++token) {
    const auto piece = tokenizer.id_to_piece(token);
    (void)tokenizer.decode(token, token, true);
    if (piece.ok()) (void)tokenizer.piece_to_id(*piece);
  }
  return 0;
}
