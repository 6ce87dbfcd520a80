// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Constants and outputs whose last byte is the last of a page; the next page is not mapped.
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>

#include <memory>
#include <string>
#include <vector>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

namespace executorch::backends::xnnpack {
namespace {

using fb_xnnpack::Datatype;
using runtime::DataLoader;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using Kind = fb_xnnpack::XNodeUnion;
using Segment = DataLoader::SegmentInfo::Type;

constexpr size_t kPage = 4096;
/// Not a multiple of the 16 bytes that XNNPACK's kernels load.
constexpr uint32_t kCount = 12;

/// Bytes that end with a page; the next page cannot be read.
class PageEnd final {
 public:
  explicit PageEnd(size_t size) : pages_((size + kPage - 1) / kPage * kPage), size_(size) {
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, pages_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(memory_ + pages_, kPage, PROT_NONE), 0);
  }
  ~PageEnd() { munmap(memory_, pages_ + kPage); }
  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;

  uint8_t* data() const { return memory_ + pages_ - size_; }

 private:
  size_t pages_, size_;
  uint8_t* memory_;
};

/// Gives each segment of a program in memory that ends with a page.
class PageEndLoader final : public DataLoader {
 public:
  explicit PageEndLoader(std::vector<uint8_t> file) : file_(std::move(file)) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& info) const override {
    if (info.segment_type == Segment::Program) {
      return FreeableBuffer(file_.data() + offset, size, nullptr);
    }
    auto* const place = new PageEnd(size);
    memcpy(place->data(), file_.data() + offset, size);
    return FreeableBuffer(
        place->data(), size,
        [](void* owner, void*, size_t) { delete static_cast<PageEnd*>(owner); }, place);
  }
  Result<size_t> size() const override { return file_.size(); }

 private:
  std::vector<uint8_t> file_;
};

TestValue bytes(TestValue value) {
  value.datatype = Datatype::QInt8;
  value.quantization = Quantization::Tensor;
  value.scale = 1;
  value.zero_point = 0;
  return value;
}

/// y = 2 x, with 2 the payload's last bytes, and z = y y.
extension::Module module_of_products() {
  TestPayload p;
  p.values = {bytes(input(0, {kCount})), bytes(output(1, {kCount})), bytes(constant(1, {kCount})),
              bytes(output(2, {kCount}))};
  p.nodes = {{Kind::Multiply, {0, 2, 1}}, {Kind::Multiply, {1, 1, 3}}};
  p.constants.push_back({0, kCount, ""});
  p.constant_bytes = kCount;
  p.constant_fill = 2;
  testing::MethodWriter w;
  const int32_t delegate = add_delegate(w, p);
  std::vector<int32_t> arguments = {w.input(w.given(testing::Type::CHAR, {kCount}))};
  arguments.push_back(w.output(w.given(testing::Type::CHAR, {kCount})));
  arguments.push_back(w.output(w.given(testing::Type::CHAR, {kCount})));
  w.run(testing::delegate(delegate, arguments));
  TestProgram program = w.finish();
  program.segment_data = program.inline_data[0];
  program.segments = {{0, program.segment_data.size()}};
  program.inline_data.clear();
  program.plans[0].delegates[0].location = testing::fb::DataLocation::SEGMENT;
  const testing::ProgramFile file(program);
  return extension::Module(std::make_unique<PageEndLoader>(
      std::vector<uint8_t>(file.data(), file.data() + file.size())));
}

TEST(PageEnd, ConstantsAndOutputsThatAreOperandsAreNotReadBeyond) {
  extension::Module module = module_of_products();
  const PageEnd x(kCount), y(kCount), z(kCount);
  memset(x.data(), 3, kCount);
  const auto tensor = [](const PageEnd& place) {
    return extension::from_blob(place.data(), {kCount}, aten::ScalarType::Char);
  };
  ASSERT_EQ(module.set_output(tensor(y), 0), Error::Ok);
  ASSERT_EQ(module.set_output(tensor(z), 1), Error::Ok);
  const auto outputs = module.forward(tensor(x));
  ASSERT_EQ(outputs.error(), Error::Ok);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(y.data()[i], 6) << i;
    EXPECT_EQ(z.data()[i], 36) << i;
  }
}

}  // namespace
}  // namespace executorch::backends::xnnpack
