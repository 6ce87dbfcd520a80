// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <dlfcn.h>
#include <executorch/extension/signature/ecdsa.h>
#include <limits.h>
#include <stddef.h>

#include <memory>

namespace executorch::extension::signature {

using runtime::Error;

namespace {

// Declarations of OpenSSL's types, used only as pointers. libcrypto is loaded at run time, so that
// programs without verification do not require it.
struct Bio;
struct Key;
struct Context;
struct Hash;

/// The functions of libcrypto, by OpenSSL's manual pages.
struct Crypto {
  Bio* (*bio_new_mem_buf)(const void* data, int size);
  int (*bio_free)(Bio* bio);
  Key* (*read_public_key)(Bio* bio, Key** key, void* callback, void* argument);
  int (*key_kind)(const Key* key);
  int (*key_bits)(const Key* key);
  void (*key_free)(Key* key);
  const Hash* (*sha256)();
  const Hash* (*sha384)();
  const Hash* (*sha512)();
  Context* (*context_new)();
  void (*context_free)(Context* context);
  int (*verify_init)(Context* context, void* key_context, const Hash* hash, void* engine, Key* key);
  int (*verify)(Context* context, const unsigned char* signature, size_t signature_size,
                const unsigned char* message, size_t message_size);
  void (*clear_errors)();

  bool is_complete = false;
};

constexpr int kEllipticCurve = 408;  // EVP_PKEY_EC

template <typename Function>
bool find(void* library, Function*& function, const char* name, const char* former_name = nullptr) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr && former_name != nullptr) {
    symbol = dlsym(library, former_name);
  }
  function = reinterpret_cast<Function*>(symbol);
  return symbol != nullptr;
}

Crypto load_crypto() {
  Crypto crypto = {};
  for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib"}) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      continue;
    }
    crypto.is_complete =
        find(library, crypto.bio_new_mem_buf, "BIO_new_mem_buf") &&
        find(library, crypto.bio_free, "BIO_free") &&
        find(library, crypto.read_public_key, "PEM_read_bio_PUBKEY") &&
        find(library, crypto.key_kind, "EVP_PKEY_get_base_id", "EVP_PKEY_base_id") &&
        find(library, crypto.key_bits, "EVP_PKEY_get_bits", "EVP_PKEY_bits") &&
        find(library, crypto.key_free, "EVP_PKEY_free") &&
        find(library, crypto.sha256, "EVP_sha256") && find(library, crypto.sha384, "EVP_sha384") &&
        find(library, crypto.sha512, "EVP_sha512") &&
        find(library, crypto.context_new, "EVP_MD_CTX_new") &&
        find(library, crypto.context_free, "EVP_MD_CTX_free") &&
        find(library, crypto.verify_init, "EVP_DigestVerifyInit") &&
        find(library, crypto.verify, "EVP_DigestVerify") &&
        find(library, crypto.clear_errors, "ERR_clear_error");
    if (crypto.is_complete) {
      return crypto;
    }
    dlclose(library);
  }
  return crypto;
}

const Hash* hash_for(const Crypto& crypto, int key_bits) {
  switch (key_bits) {
    case 256:
      return crypto.sha256();
    case 384:
      return crypto.sha384();
    case 521:
      return crypto.sha512();
    default:
      return nullptr;
  }
}

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Error verify_ecdsa(std::string_view public_key, std::string_view message,
                   std::string_view signature) {
  static const Crypto crypto = load_crypto();
  ET_CHECK_OR_RETURN_ERROR(crypto.is_complete, NotSupported,
                           "signatures require OpenSSL: the system lacks libcrypto.so.3 and "
                           "libcrypto.so.1.1");
  ET_CHECK_OR_RETURN_ERROR(public_key.size() <= INT_MAX, InvalidArgument,
                           "a key of %zu bytes is too long", public_key.size());
  const std::unique_ptr<Bio, int (*)(Bio*)> text(
      crypto.bio_new_mem_buf(public_key.data(), static_cast<int>(public_key.size())),
      crypto.bio_free);
  char no_passphrase[] = "";  // without one, OpenSSL would ask the terminal
  const std::unique_ptr<Key, void (*)(Key*)> key(
      text == nullptr ? nullptr
                      : crypto.read_public_key(text.get(), nullptr, nullptr, no_passphrase),
      crypto.key_free);
  const std::unique_ptr<Context, void (*)(Context*)> context(crypto.context_new(),
                                                             crypto.context_free);
  const Hash* const hash = key == nullptr || crypto.key_kind(key.get()) != kEllipticCurve
                               ? nullptr
                               : hash_for(crypto, crypto.key_bits(key.get()));
  const bool is_ready = context != nullptr && hash != nullptr &&
                        crypto.verify_init(context.get(), nullptr, hash, nullptr, key.get()) == 1;
  const bool is_right = is_ready && crypto.verify(context.get(), bytes(signature), signature.size(),
                                                  bytes(message), message.size()) == 1;
  crypto.clear_errors();
  ET_CHECK_OR_RETURN_ERROR(is_ready, InvalidArgument,
                           "expected a public key on an elliptic curve of 256, 384 or 521 bits, as "
                           "PEM");
  ET_CHECK_OR_RETURN_ERROR(is_right, InvalidExternalData,
                           "the signature was not made with the private key of this public key, or "
                           "was changed");
  return Error::Ok;
}

}  // namespace executorch::extension::signature
