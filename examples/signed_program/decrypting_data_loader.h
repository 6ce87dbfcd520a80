// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A custom DataLoader, which decrypts a file as it reads it. OpenSSL's AES-256-GCM also verifies
// that the file was encrypted with the key.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <utility>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>

using Key = std::array<unsigned char, 32>;

/// The file is a nonce of 12 bytes, the encrypted bytes, and a tag of 16. All of it is decrypted
/// and verified before anything is loaded. The loader must outlive the loaded data.
class DecryptingDataLoader final : public executorch::runtime::DataLoader {
  using Error = executorch::runtime::Error;
  using FreeableBuffer = executorch::runtime::FreeableBuffer;
  template <typename T>
  using Result = executorch::runtime::Result<T>;

 public:
  static Result<DecryptingDataLoader> from(const char* path, const Key& key) {
    const auto file = ET_UNWRAP(executorch::extension::FileDataLoader::from(path));
    const size_t size = ET_UNWRAP(file.size());
    ET_CHECK_OR_RETURN_ERROR(size > kNonce + kTag && size <= INT32_MAX, InvalidProgram,
                             "%s: expected an encrypted file of at most 2 GB, found %zu bytes",
                             path, size);
    // load() aligns the memory. Read the nonce separately, so that the program begins at the
    // aligned address.
    unsigned char nonce[kNonce];
    ET_CHECK_OK_OR_RETURN_ERROR(file.load_into(0, kNonce, SegmentInfo(), nonce));
    FreeableBuffer bytes = ET_UNWRAP(file.load(kNonce, size - kNonce, SegmentInfo()));
    ET_CHECK_OR_RETURN_ERROR(
        decrypt(key, nonce, static_cast<unsigned char*>(const_cast<void*>(bytes.data())),
                static_cast<int>(size - kNonce - kTag)),
        InvalidProgram, "%s: encrypted with another key, or changed since", path);
    return DecryptingDataLoader(std::move(bytes), size - kNonce - kTag);
  }

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& info) const override {
    return loader_.load(offset, size, info);
  }
  Error load_into(size_t offset, size_t size, const SegmentInfo& info, void* out) const override {
    return loader_.load_into(offset, size, info, out);
  }
  Result<size_t> size() const override { return loader_.size(); }

 private:
  static constexpr size_t kNonce = 12, kTag = 16;

  DecryptingDataLoader(FreeableBuffer bytes, size_t size)
      : DecryptingDataLoader(std::make_shared<FreeableBuffer>(std::move(bytes)), size) {}
  DecryptingDataLoader(const std::shared_ptr<FreeableBuffer>& bytes, size_t size)
      : loader_(std::shared_ptr<void>(bytes, const_cast<void*>(bytes->data())), size) {}

  /// Decrypts in place; the tag follows the bytes.
  static bool decrypt(const Key& key, const unsigned char* nonce, unsigned char* bytes, int size) {
    const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                             EVP_CIPHER_CTX_free);
    int written = 0;
    return context != nullptr &&
           EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce) == 1 &&
           EVP_DecryptUpdate(context.get(), bytes, &written, bytes, size) == 1 &&
           EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTag),
                               bytes + size) == 1 &&
           EVP_DecryptFinal_ex(context.get(), bytes + written, &written) == 1;
  }

  // Owns the decrypted bytes. After a move it has none, and loading returns InvalidState.
  executorch::extension::SharedPtrDataLoader loader_;
};
