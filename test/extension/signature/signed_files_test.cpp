// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Signatures in TEST_DATA_DIR/signature, which model-signing 1.1.1 has written, with their keys.
#include <executorch/extension/signature/signed_files.h>

#include <gtest/gtest.h>

#include <executorch/extension/signature/ecdsa.h>
#include <executorch/extension/signature/verified_data_loader.h>
#include <executorch/runtime/platform/runtime.h>

#include <fstream>
#include <sstream>
#include <string>

#include "../../runtime/log_capture.h"
#include "test_paths.h"

namespace executorch::extension::signature {
namespace {

using runtime::Error;
using runtime::Result;

std::string data(const std::string& name) { return TEST_DATA_DIR "/signature/" + name; }

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Signature : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }

  static Result<SignedFiles> open(const std::string& signature, const std::string& key) {
    return SignedFiles::open(data(signature).c_str(), data(key).c_str());
  }
  /// The error for a signature in which `after` replaces `before`.
  Error error_with(const std::string& before, const std::string& after) const {
    std::string text = read(data("p256.sig"));
    const size_t place = text.find(before);
    EXPECT_NE(place, std::string::npos) << before;
    text.replace(place, before.size(), after);
    const std::string path = ::testing::TempDir() + "changed.sig";
    std::ofstream(path, std::ios::binary) << text;
    return SignedFiles::open(path.c_str(), data("p256.pub").c_str()).error();
  }

  const LogCapture log_;
};

TEST_F(Signature, NamesTheFilesThatModelSigningSigned) {
  for (const char* name : {"p256", "p384"}) {
    const Result<SignedFiles> files = open(name + std::string(".sig"), name + std::string(".pub"));
    ASSERT_TRUE(files.ok()) << log_.text();
    EXPECT_EQ(to_hex(*files->digest_of("hello.txt")),
              "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    EXPECT_TRUE(files->digest_of("/any/folder/bytes.ptd").ok());
    EXPECT_EQ(files->digest_of("other.txt").error(), Error::InvalidExternalData);
  }
}

TEST_F(Signature, NamesAFileThatWasSignedAlone) {
  const Result<SignedFiles> files = open("alone_p384.sig", "p384.pub");
  ASSERT_TRUE(files.ok()) << log_.text();
  EXPECT_TRUE(files->digest_of("hello.txt").ok());
  EXPECT_FALSE(files->digest_of("bytes.ptd").ok());
}

TEST_F(Signature, OfAnotherKeyIsRefused) {
  EXPECT_EQ(open("p256.sig", "p384.pub").error(), Error::InvalidExternalData);
  EXPECT_TRUE(log_.contains("does not match the key")) << log_.text();
}

TEST_F(Signature, ThatWasChangedIsRefused) {
  const std::string text = read(data("p256.sig"));
  const size_t payload = text.find("\"payload\":");
  ASSERT_NE(payload, std::string::npos);
  const std::string first = text.substr(text.find("\"ewog", payload), 12);
  EXPECT_EQ(error_with(first, first.substr(0, 11) + (first[11] == 'J' ? "K" : "J")),
            Error::InvalidExternalData);
  EXPECT_EQ(error_with("vnd.in-toto+json", "vnd.in-toto+jsonx"), Error::InvalidExternalData);
  EXPECT_EQ(error_with("dsseEnvelope", "messageSignature"), Error::InvalidExternalData);
  EXPECT_EQ(error_with("\"signatures\"", "\"signature\""), Error::InvalidExternalData);
  EXPECT_EQ(error_with("\"sig\"", "\"keyid\""), Error::InvalidExternalData);
  EXPECT_EQ(error_with("{", ""), Error::InvalidExternalData);
}

TEST_F(Signature, NeedsAPublicKeyOfAKnownCurve) {
  EXPECT_EQ(open("p256.sig", "hello.txt").error(), Error::InvalidArgument);
  EXPECT_EQ(open("p256.sig", "nothing.pub").error(), Error::NotFound);
  EXPECT_EQ(open("nothing.sig", "p256.pub").error(), Error::NotFound);
  EXPECT_EQ(verify_ecdsa("-----BEGIN PUBLIC KEY-----\nMCow\n", "", ""), Error::InvalidArgument);
}

/// An envelope around a statement with one file.
Envelope envelope(const std::string& statement,
                  const std::string& type = "application/vnd.in-toto+json") {
  return {type, statement, ""};
}

const std::string kFileDigest = std::string(64, 'a');

std::string statement(const std::string& resources, const std::string& subject_digest,
                      const std::string& method = "files") {
  return R"({"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "m", "digest": )"
         R"({"sha256": ")" +
         subject_digest +
         R"("}}], "predicateType": "https://model_signing/signature/v1.0", "predicate": )"
         R"({"serialization": {"method": ")" +
         method + R"("}, "resources": )" + resources + "}}";
}

std::string subject_of(const Sha256& file) {
  Sha256Hasher all;
  all.add(file.data(), file.size());
  return to_hex(all.finish());
}

TEST_F(Signature, PayloadsOfOtherKindsAreRefused) {
  Sha256 digest;
  digest.fill(0xaa);
  const std::string right = subject_of(digest);
  const std::string one =
      R"([{"name": "m", "algorithm": "sha256", "digest": ")" + kFileDigest + "\"}]";
  ASSERT_TRUE(read_signed_files(envelope(statement(one, right))).ok()) << log_.text();
  const std::string blake = R"([{"name": "m", "algorithm": "blake3", "digest": "00"}])";
  EXPECT_EQ(read_signed_files(envelope(statement(blake, right))).error(), Error::NotSupported);
  EXPECT_EQ(read_signed_files(envelope(statement(one, right, "shards"))).error(),
            Error::NotSupported);
  const std::string short_digest = R"([{"name": "m", "algorithm": "sha256", "digest": "aa"}])";
  for (const Envelope& wrong :
       {envelope(statement(one, kFileDigest)), envelope(statement("{}", right)),
        envelope(statement("[{}]", right)), envelope(statement("[1]", right)),
        envelope(statement(short_digest, right)), envelope("[]"), envelope("{}"),
        envelope(statement(one, right), "text/plain")}) {
    EXPECT_EQ(read_signed_files(wrong).error(), Error::InvalidExternalData) << wrong.payload;
  }
}

TEST_F(Signature, AVerifiedFileIsReadOnceAndIsWhatWasSigned) {
  const Result<SignedFiles> files = open("p256.sig", "p256.pub");
  ASSERT_TRUE(files.ok());
  const std::string path = ::testing::TempDir() + "hello.txt";
  std::ofstream(path, std::ios::binary) << "hello\n";
  Result<VerifiedDataLoader> loader =
      VerifiedDataLoader::from(path.c_str(), *files->digest_of(path));
  ASSERT_TRUE(loader.ok()) << log_.text();
  std::ofstream(path, std::ios::binary) << "HELLO, and more\n";
  VerifiedDataLoader moved(std::move(*loader));
  EXPECT_EQ(*moved.size(), 6u);
  const auto bytes = moved.load(1, 4, runtime::DataLoader::SegmentInfo());
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(std::string(static_cast<const char*>(bytes->data()), 4), "ello");
  EXPECT_EQ(moved.load(3, 4, runtime::DataLoader::SegmentInfo()).error(), Error::InvalidArgument);
  EXPECT_EQ(*loader->size(), 0u) << "the bytes are the other loader's";
  EXPECT_EQ(loader->load(0, 1, runtime::DataLoader::SegmentInfo()).error(), Error::InvalidArgument);

  EXPECT_EQ(VerifiedDataLoader::from(path.c_str(), *files->digest_of(path)).error(),
            Error::InvalidExternalData);
  EXPECT_TRUE(log_.contains("expected SHA-256 5891b5b5")) << log_.text();
}

}  // namespace
}  // namespace executorch::extension::signature
