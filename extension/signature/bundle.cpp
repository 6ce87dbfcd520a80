// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/signature/bundle.h>
#include <stdint.h>
#include <string.h>

#include <utility>

#include <executorch/extension/signature/json.h>

namespace executorch::extension::signature {

using runtime::Error;
using runtime::Result;

namespace {

constexpr char kPayloadType[] = "application/vnd.in-toto+json";
constexpr char kStatementType[] = "https://in-toto.io/Statement/v1";
constexpr char kPredicateType[] = "https://model_signing/signature/v1.0";

/// RFC 4648, with padding.
Result<std::string> decode_base64(std::string_view text, const char* what) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  const size_t padding = text.size() - text.substr(0, text.find('=')).size();
  bool is_right = text.size() % 4 == 0 && padding <= 2 &&
                  text.substr(text.size() - padding) == std::string_view("==").substr(0, padding);
  uint32_t bits = 0;
  for (size_t i = 0; is_right && i < text.size(); ++i) {
    const size_t value = i < text.size() - padding ? kAlphabet.find(text[i]) : 0;
    is_right = value != std::string_view::npos;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 == 3) {
      bytes +=
          {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8), static_cast<char>(bits)};
    }
  }
  ET_CHECK_OR_RETURN_ERROR(is_right, InvalidExternalData, "signature: its %s is invalid Base64",
                           what);
  bytes.resize(bytes.size() - padding);
  return bytes;
}

Result<const std::string*> required_string(const JsonValue* object, const char* name) {
  const std::string* const text = object == nullptr ? nullptr : object->find_string(name);
  ET_CHECK_OR_RETURN_ERROR(text != nullptr, InvalidExternalData,
                           "signature: the string '%s' is missing", name);
  return text;
}

Error require_value(const JsonValue& object, const char* name, const char* expected) {
  const std::string* const found = ET_UNWRAP(required_string(&object, name));
  ET_CHECK_OR_RETURN_ERROR(*found == expected, InvalidExternalData,
                           "signature: expected '%s' as %s, found '%s'", expected, name,
                           found->c_str());
  return Error::Ok;
}

Result<Sha256> read_hex(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Sha256 digest = {};
  bool is_right = text.size() == 2 * digest.size();
  for (size_t i = 0; is_right && i < text.size(); ++i) {
    const size_t value = kDigits.find(text[i]);
    is_right = value != std::string_view::npos;
    digest[i / 2] = static_cast<uint8_t>(digest[i / 2] << 4 | (value & 15));
  }
  ET_CHECK_OR_RETURN_ERROR(is_right, InvalidExternalData, "signature: no SHA-256: '%s'",
                           text.c_str());
  return digest;
}

Result<SignedFile> read_signed_file(const JsonValue& resource) {
  const std::string* const algorithm = ET_UNWRAP(required_string(&resource, "algorithm"));
  ET_CHECK_OR_RETURN_ERROR(*algorithm == "sha256", NotSupported,
                           "signature: expected digests by sha256, found %s", algorithm->c_str());
  const std::string* const name = ET_UNWRAP(required_string(&resource, "name"));
  return SignedFile{*name, ET_UNWRAP(read_hex(*ET_UNWRAP(required_string(&resource, "digest"))))};
}

/// The statement's only subject.
Result<const JsonValue*> subject_of(const JsonValue& statement) {
  const JsonValue* const subjects = statement.find("subject");
  ET_CHECK_OR_RETURN_ERROR(subjects != nullptr && subjects->kind == JsonValue::Kind::Array &&
                               subjects->items.size() == 1,
                           InvalidExternalData, "signature: expected a list of one 'subject'");
  return &subjects->items[0];
}

/// Checks that the subject's digest is the digest of all files' digests.
Error check_subject(const JsonValue& subject, const std::vector<SignedFile>& files) {
  Sha256Hasher all;
  for (const SignedFile& file : files) {
    all.add(file.digest.data(), file.digest.size());
  }
  const std::string* const expected = ET_UNWRAP(required_string(subject.find("digest"), "sha256"));
  ET_CHECK_OR_RETURN_ERROR(to_hex(all.finish()) == *expected, InvalidExternalData,
                           "signature: the digest of its files differs from '%s'",
                           expected->c_str());
  return Error::Ok;
}

}  // namespace

std::string Envelope::signed_bytes() const {
  // DSSE's pre-authentication encoding.
  return "DSSEv1 " + std::to_string(payload_type.size()) + " " + payload_type + " " +
         std::to_string(payload.size()) + " " + payload;
}

Result<Envelope> read_bundle(std::string_view text) {
  const JsonValue bundle = ET_UNWRAP(parse_json(text));
  const JsonValue* const envelope = bundle.find("dsseEnvelope");
  ET_CHECK_OR_RETURN_ERROR(envelope != nullptr, InvalidExternalData,
                           "signature: not a Sigstore bundle: 'dsseEnvelope' is missing");
  const JsonValue* const signatures = envelope->find("signatures");
  ET_CHECK_OR_RETURN_ERROR(signatures != nullptr && signatures->kind == JsonValue::Kind::Array &&
                               signatures->items.size() == 1,
                           InvalidExternalData, "signature: expected a list of one signature");
  Envelope result;
  result.payload_type = *ET_UNWRAP(required_string(envelope, "payloadType"));
  result.payload =
      ET_UNWRAP(decode_base64(*ET_UNWRAP(required_string(envelope, "payload")), "payload"));
  result.signature = ET_UNWRAP(
      decode_base64(*ET_UNWRAP(required_string(&signatures->items[0], "sig")), "signature"));
  return result;
}

Result<std::vector<SignedFile>> read_signed_files(const Envelope& envelope) {
  ET_CHECK_OR_RETURN_ERROR(envelope.payload_type == kPayloadType, InvalidExternalData,
                           "signature: expected a payload of type %s, found %s", kPayloadType,
                           envelope.payload_type.c_str());
  const JsonValue statement = ET_UNWRAP(parse_json(envelope.payload));
  ET_CHECK_OK_OR_RETURN_ERROR(require_value(statement, "_type", kStatementType));
  ET_CHECK_OK_OR_RETURN_ERROR(require_value(statement, "predicateType", kPredicateType));
  const JsonValue* const subject = ET_UNWRAP(subject_of(statement));
  const JsonValue* const predicate = statement.find("predicate");
  const JsonValue* const serialization =
      predicate == nullptr ? nullptr : predicate->find("serialization");
  const std::string* const method = ET_UNWRAP(required_string(serialization, "method"));
  ET_CHECK_OR_RETURN_ERROR(*method == "files", NotSupported,
                           "signature: expected digests of files, found digests of %s",
                           method->c_str());
  const JsonValue* const resources = predicate->find("resources");
  ET_CHECK_OR_RETURN_ERROR(resources != nullptr && resources->kind == JsonValue::Kind::Array,
                           InvalidExternalData, "signature: it lists no files");
  std::vector<SignedFile> files;
  for (const JsonValue& resource : resources->items) {
    files.push_back(ET_UNWRAP(read_signed_file(resource)));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_subject(*subject, files));
  // model-signing names a file "." that was signed without a folder; the subject has its name.
  if (files.size() == 1 && files[0].name == ".") {
    files[0].name = *ET_UNWRAP(required_string(subject, "name"));
  }
  return files;
}

}  // namespace executorch::extension::signature
