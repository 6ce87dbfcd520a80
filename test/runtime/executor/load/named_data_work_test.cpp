// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Delegates look up constants by name. The program's size limits how many names loading a method
// may compare; looking names up in their order costs one comparison each.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/executor/load/program_data_map.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::internal::MergedDataMap;
using runtime::internal::ProgramDataMap;

constexpr int kNames = 200;

std::string name(int index) { return "weight" + std::to_string(index); }

/// A program with kNames names, all of the same four bytes.
class NamedDataWork : public ::testing::Test {
 protected:
  static TestProgram with_names() {
    TestProgram program = add_program();
    program.segment_data = "data";
    program.segments = {{0, 4}};
    for (int i = 0; i < kNames; ++i) {
      program.named_data.emplace_back(name(i), 0);
    }
    return program;
  }

  ProgramFile file_{with_names()};
  FileLoader loader_{file_};
  ProgramDataMap own_{&loader_, fb::GetProgram(file_.data()), file_.size() - 4};
};

TEST_F(NamedDataWork, NamesInTheirOrderCostOneComparisonEach) {
  // The limit is eight names for each byte of the program: this size allows exactly kNames.
  const MergedDataMap map(nullptr, own_, kNames / 8);
  for (int i = 0; i < kNames; ++i) {
    const auto data = map.get_data(name(i));
    ASSERT_TRUE(data.ok()) << name(i);
    EXPECT_EQ(std::string(static_cast<const char*>(data->data()), data->size()), "data");
  }
  const LogCapture log;
  EXPECT_EQ(map.get_data(name(0)).error(), Error::NotFound);
  EXPECT_TRUE(log.contains("named data 'weight0': more look-ups than the size of the file allows"))
      << log.text();
}

TEST_F(NamedDataWork, NamesInAnyOrderAreFound) {
  const MergedDataMap map(nullptr, own_, file_.size());
  for (int i = kNames; i-- > 0;) {
    EXPECT_TRUE(map.get_data(name(i)).ok()) << name(i);
  }
  std::vector<char> bytes(4);
  EXPECT_EQ(map.load_data_into(name(7), bytes.data(), 4), Error::Ok);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "data");
}

TEST_F(NamedDataWork, ManyMissingNamesEndTheLookUps) {
  const MergedDataMap map(nullptr, own_, kNames);
  const LogCapture log;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(map.load_data_into("missing", nullptr, 0), Error::NotFound);
  }
  EXPECT_FALSE(log.contains("more look-ups")) << log.text();
  EXPECT_EQ(map.get_data("missing").error(), Error::NotFound);
  EXPECT_TRUE(log.contains("more look-ups than the size of the file allows")) << log.text();
}

TEST_F(NamedDataWork, TheProgramsOwnMapHasNoLimit) {
  for (int i = 0; i < 2 * kNames; ++i) {
    EXPECT_EQ(own_.get_data("missing").error(), Error::NotFound);
  }
  EXPECT_TRUE(own_.get_data(name(kNames - 1)).ok());
}

}  // namespace
}  // namespace executorch::testing
