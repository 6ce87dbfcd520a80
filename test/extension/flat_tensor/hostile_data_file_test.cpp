// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Well-formed data files whose entries contradict each other, the file or the program: loading
// refuses each of them by name, or its entries stay inside of the file.
#include <gtest/gtest.h>
#include <string.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/flat_tensor/serialize/flat_tensor_generated.h>
#include <executorch/runtime/platform/runtime.h>

#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

namespace {

using executorch::extension::BufferDataLoader;
using executorch::extension::FlatTensorDataMap;
using executorch::runtime::Error;
using executorch::runtime::Result;
namespace fb = flat_tensor_flatbuffer;

constexpr size_t kHeaderEnd = 48;
constexpr size_t kIdentifierEnd = 8;

struct Entry {
  std::string key;
  uint32_t segment = 0;
  bool has_layout = true;
  int8_t scalar_type = 6;
  std::vector<int32_t> sizes = {2, 2};
  std::vector<uint8_t> dim_order = {0, 1};
};

/// One tensor of four floats, "a"; and what a test changes of it.
struct DataFile {
  uint32_t version = 0;
  /// Offset and size.
  std::vector<std::pair<uint64_t, uint64_t>> segments = {{0, 16}};
  std::vector<Entry> entries = {{"a"}};
  size_t segment_bytes = 64;
  /// Added to the numbers of the header.
  uint64_t flatbuffer_offset = 0, flatbuffer_size = 0, segment_base = 0, segment_area = 0;

  std::string bytes() const;
};

void write(std::string& bytes, size_t at, uint64_t number, size_t size) {
  memcpy(bytes.data() + at, &number, size);
}

std::string DataFile::bytes() const {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<fb::NamedData>> named;
  for (const Entry& entry : entries) {
    flatbuffers::Offset<fb::TensorLayout> layout;
    if (entry.has_layout) {
      const auto sizes = b.CreateVector(entry.sizes);
      layout = fb::CreateTensorLayout(b, static_cast<fb::ScalarType>(entry.scalar_type), sizes,
                                      b.CreateVector(entry.dim_order));
    }
    named.push_back(fb::CreateNamedData(b, b.CreateString(entry.key), entry.segment, layout));
  }
  std::vector<flatbuffers::Offset<fb::DataSegment>> places;
  for (const auto& [offset, size] : segments) {
    places.push_back(fb::CreateDataSegment(b, offset, size));
  }
  const auto place_vector = b.CreateVector(places);
  b.Finish(fb::CreateFlatTensor(b, version, place_vector, b.CreateVector(named)), "FT01");
  std::string bytes(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  bytes.insert(kIdentifierEnd, kHeaderEnd - kIdentifierEnd, '\0');
  uint32_t root = 0;
  memcpy(&root, bytes.data(), sizeof(root));
  write(bytes, 0, root + kHeaderEnd - kIdentifierEnd, 4);
  memcpy(bytes.data() + 8, "FH01", 4);
  const size_t base = (bytes.size() + 15) / 16 * 16;
  write(bytes, 12, 40, 4);
  write(bytes, 16, kHeaderEnd + flatbuffer_offset, 8);
  write(bytes, 24, bytes.size() - kHeaderEnd + flatbuffer_size, 8);
  write(bytes, 32, base + segment_base, 8);
  write(bytes, 40, segment_bytes + segment_area, 8);
  bytes.resize(base + segment_bytes);
  return bytes;
}

struct Row {
  std::string name;
  std::function<void(DataFile&)> change;
  /// Part of the message that refuses the file; empty: it loads.
  std::string refused = "";
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::function<void(DataFile&)> entry(std::function<void(Entry&)> change) {
  return [change](DataFile& file) { change(file.entries[0]); };
}

const std::vector<Row>& rows() {
  constexpr const char* kLayout = "sizes and dtype do not give its 16 bytes";
  static const std::vector<Row> all = {
      {"AFileIsValid", [](DataFile&) {}},
      {"SegmentsOverlap",
       [](DataFile& f) {
         f.segments = {{0, 16}, {4, 16}};
         f.entries.push_back({"b", 1});
       }},
      {"TwoNamesShareASegment", [](DataFile& f) { f.entries.push_back({"b"}); }},
      {"ANameOccursTwice", [](DataFile& f) { f.entries.push_back({"a"}); },
       "two entries are named 'a'"},
      {"ANameIsEmpty", entry([](Entry& e) { e.key = ""; })},
      {"ANameContainsAZero", [](DataFile& f) { f.entries.push_back({std::string("a\0b", 3)}); },
       "two entries are named 'a'"},
      {"ASegmentIsUnaligned", [](DataFile& f) { f.segments = {{1, 16}}; }},
      {"ASegmentEndsBeyondTheFile", [](DataFile& f) { f.segments = {{49, 16}}; },
       "16 bytes at 49 of segments' 64"},
      {"ASegmentWrapsAround", [](DataFile& f) { f.segments = {{UINT64_MAX - 7, 16}}; },
       "of segments' 64"},
      {"ASegmentHasNoBytes", [](DataFile& f) { f.segments = {{64, 0}}; },
       "sizes and dtype do not give its 0 bytes"},
      {"ASegmentIsNotThere", entry([](Entry& e) { e.segment = 1; }), "is in segment 1 of 1"},
      {"AnUnusedSegmentIsBeyondTheFile",
       [](DataFile& f) { f.segments.push_back({UINT64_MAX, UINT64_MAX}); }},
      {"SizesAreTooLargeTogether", entry([](Entry& e) { e.sizes = {1 << 30, 1 << 30}; }), kLayout},
      {"SizesOverflow", entry([](Entry& e) {
         e.sizes = {INT32_MAX, INT32_MAX, INT32_MAX};
         e.dim_order = {0, 1, 2};
       }),
       kLayout},
      {"SizesWrapAroundToTheSegment", entry([](Entry& e) {
         e.sizes = {1 << 30, 1 << 30, 1 << 4};
         e.dim_order = {0, 1, 2};
       }),
       kLayout},
      {"ASizeIsNegative", entry([](Entry& e) { e.sizes = {-2, -2}; }), kLayout},
      {"ADtypeIsBeyondTheEnum", entry([](Entry& e) { e.scalar_type = 127; }), kLayout},
      {"ADtypeIsNegative", entry([](Entry& e) { e.scalar_type = -1; }), kLayout},
      {"ADimOrderRepeats", entry([](Entry& e) { e.dim_order = {1, 1}; }), kLayout},
      {"ADimOrderIsFarAway", entry([](Entry& e) { e.dim_order = {0, 255}; }), kLayout},
      {"ADimOrderIsShort", entry([](Entry& e) { e.dim_order = {0}; }), kLayout},
      {"ADimOrderIsMissing", entry([](Entry& e) { e.dim_order = {}; }), kLayout},
      {"ADimOrderIsAnother", entry([](Entry& e) { e.dim_order = {1, 0}; })},
      {"RanksAreTooHigh", entry([](Entry& e) {
         e.sizes.assign(300, 1);
         e.dim_order.clear();
         for (int i = 0; i < 300; ++i) e.dim_order.push_back(static_cast<uint8_t>(i));
       }),
       kLayout},
      {"ATensorIsANumber",
       [](DataFile& f) {
         f.segments = {{0, 4}};
         f.entries[0].sizes = {};
         f.entries[0].dim_order = {};
       }},
      {"ABlobHasNoLayout", entry([](Entry& e) { e.has_layout = false; })},
      {"AVersionIsAnother", [](DataFile& f) { f.version = 1; }, "version 1, expected 0"},
      {"TheFlatbufferWrapsAround", [](DataFile& f) { f.flatbuffer_size = UINT64_MAX - 1000; },
       "a flatbuffer of"},
      {"TheFlatbufferIsInTheHeader", [](DataFile& f) { f.flatbuffer_offset = uint64_t{0} - 40; },
       "expected at least 40 and 48"},
      {"TheFlatbufferIsCutOff", [](DataFile& f) { f.flatbuffer_size = uint64_t{0} - 32; },
       "its index is damaged"},
      {"SegmentsLieInTheFlatbuffer", [](DataFile& f) { f.segment_base = uint64_t{0} - 64; },
       "before the flatbuffer's end"},
      {"SegmentsWrapAround", [](DataFile& f) { f.segment_area = UINT64_MAX - 64; }, "segments of"},
      {"SegmentsLieBeyondTheFile", [](DataFile& f) { f.segment_base = 1; }, "segments of"},
  };
  return all;
}

class HostileDataFileTest : public testing::TestWithParam<Row> {};

TEST_P(HostileDataFileTest, IsRefusedOrStaysInsideOfTheFile) {
  executorch::runtime::runtime_init();
  DataFile file;
  GetParam().change(file);
  const std::string bytes = file.bytes();
  // A heap block of exactly these bytes.
  const std::unique_ptr<uint64_t[]> block(new uint64_t[(bytes.size() + 7) / 8]);
  memcpy(block.get(), bytes.data(), bytes.size());
  BufferDataLoader loader(block.get(), bytes.size());
  const LogCapture log;
  const Result<FlatTensorDataMap> map = FlatTensorDataMap::load(&loader);
  if (!GetParam().refused.empty()) {
    EXPECT_EQ(map.error(), Error::InvalidExternalData);
    EXPECT_TRUE(log.contains(GetParam().refused)) << log.text();
    return;
  }
  ASSERT_TRUE(map.ok()) << log.text();
  for (uint32_t i = 0; i < map->get_num_keys().get(); ++i) {
    const auto data = map->get_data(*map->get_key(i));
    ASSERT_TRUE(data.ok());
    const std::vector<uint8_t> copy(static_cast<const uint8_t*>(data->data()),
                                    static_cast<const uint8_t*>(data->data()) + data->size());
    const auto layout = map->get_tensor_layout(*map->get_key(i));
    EXPECT_TRUE(!layout.ok() || layout->nbytes() == copy.size());
    std::vector<uint8_t> into(copy.size());
    EXPECT_EQ(map->load_data_into(*map->get_key(i), into.data(), into.size()), Error::Ok);
    EXPECT_EQ(into, copy);
    EXPECT_EQ(map->load_data_into(*map->get_key(i), into.data(), into.size() + 1),
              Error::InvalidArgument);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, HostileDataFileTest, testing::ValuesIn(rows()),
                         executorch::testing::NameOfRow());

}  // namespace
