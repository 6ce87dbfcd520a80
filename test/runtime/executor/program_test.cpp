// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>
#include <string.h>

#include <string>

#include "../log_capture.h"
#include "loaded_program.h"
#include "program_builder.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::Program;
using runtime::Tag;

std::string bytes_of(const TestProgram& program) {
  const ProgramFile file(program);
  return std::string(reinterpret_cast<const char*>(file.data()), file.size());
}

TestProgram program_with_segments() {
  TestProgram program = add_program();
  program.segment_data = "constants, 32 bytes long. 456789named";
  program.segments = {{0, 32}, {32, 5}};
  program.constants = {0, {0, 8}};
  program.named_data = {{"key", 1}};
  return program;
}

TEST(ProgramHeader, RefusesFilesThatAreNoPrograms) {
  const LogCapture log;
  EXPECT_EQ(load_error(ProgramFile(std::string())), Error::InvalidProgram);
  EXPECT_EQ(load_error(ProgramFile(std::string("short"))), Error::InvalidProgram);
  EXPECT_EQ(load_error(ProgramFile(std::string(100, 'x'))), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("not a program file")) << log.text();
}

TEST(ProgramHeader, RefusesAnotherVersion) {
  std::string bytes = bytes_of(add_program());
  bytes[6] = '9';
  const LogCapture log;
  EXPECT_EQ(load_error(ProgramFile(bytes)), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("another version")) << log.text();
}

TEST(ProgramHeader, RefusesSizesThatDoNotFitTheFile) {
  const std::string good = bytes_of(program_with_segments());
  EXPECT_EQ(load_error(ProgramFile(good)), Error::Ok);
  struct Case {
    size_t position;
    uint64_t number;
    size_t width;
  };
  const Case cases[] = {
      {12, 8, 4},                // a length that is too small
      {12, 1u << 30, 4},         // ... too large
      {16, 0, 8},                // no flatbuffer
      {16, good.size() + 1, 8},  // a flatbuffer larger than the file
      {24, 40, 8},               // segments inside of the flatbuffer
      {24, good.size() + 1, 8},  // segments after the end
      {32, good.size(), 8},      // segments past the end
      {24, UINT64_MAX, 8},       // overflow
      {32, UINT64_MAX, 8},
  };
  for (const Case& wrong : cases) {
    const LogCapture log;
    std::string bytes = good;
    memcpy(&bytes[wrong.position], &wrong.number, wrong.width);
    EXPECT_EQ(load_error(ProgramFile(bytes)), Error::InvalidProgram) << wrong.position;
    EXPECT_TRUE(log.contains("program header")) << log.text();
  }
}

TEST(ProgramHeader, EveryTruncationIsRefused) {
  const LogCapture log;
  const std::string good = bytes_of(program_with_segments());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(load_error(ProgramFile(good.substr(0, size))), Error::Ok) << size;
  }
}

TEST(ProgramHeader, CheckHeaderDistinguishesProgramsFromOtherFiles) {
  std::string bytes = bytes_of(program_with_segments());
  EXPECT_EQ(Program::check_header(bytes.data(), bytes.size()), Program::CompatibleVersion);
  EXPECT_EQ(Program::check_header(bytes.data(), Program::kMinHeadBytes - 1), Program::ShortData);
  bytes[7] = '3';
  EXPECT_EQ(Program::check_header(bytes.data(), bytes.size()), Program::IncompatibleVersion);
  bytes[4] = 'x';
  EXPECT_EQ(Program::check_header(bytes.data(), bytes.size()), Program::NotPresent);
}

TEST(Program, RefusesMisalignedMemory) {
  const std::string bytes = bytes_of(add_program());
  // Two bytes in front, then the program.
  const ProgramFile shifted("xx" + bytes);
  class Loader final : public runtime::DataLoader {
   public:
    explicit Loader(const ProgramFile& file) : file_(file) {}
    runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                  const SegmentInfo&) const override {
      return runtime::FreeableBuffer(file_.data() + 2 + offset, size, nullptr);
    }
    runtime::Result<size_t> size() const override { return file_.size() - 2; }

   private:
    const ProgramFile& file_;
  };
  Loader loader(shifted);
  const LogCapture log;
  EXPECT_EQ(Program::load(&loader).error(), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("alignment")) << log.text();
}

TEST(Program, NamesItsMethods) {
  TestProgram source = add_program();
  source.plans.push_back(source.plans[0]);
  source.plans[1].name = "second";
  LoadedProgram program(source);
  ASSERT_EQ(program->num_methods(), 2u);
  EXPECT_STREQ(*program->get_method_name(0), "forward");
  EXPECT_STREQ(*program->get_method_name(1), "second");
  const LogCapture log;
  EXPECT_EQ(program->get_method_name(2).error(), Error::InvalidArgument);
  EXPECT_EQ(program->method_meta("third").error(), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("third")) << log.text();
  EXPECT_STREQ(*program->get_output_flattening_encoding("second"), "out");
  EXPECT_EQ(program->get_output_flattening_encoding("third").error(), Error::InvalidArgument);
}

TEST(Program, FindsConstantsAndNamedData) {
  LoadedProgram program(program_with_segments());
  const void* constant = *program->get_constant_buffer_data(1, 24);
  EXPECT_EQ(memcmp(constant, "s, 32", 5), 0);
  const LogCapture log;
  EXPECT_EQ(program->get_constant_buffer_data(1, 25).error(), Error::InvalidArgument);
  EXPECT_EQ(program->get_constant_buffer_data(2, 1).error(), Error::InvalidArgument);

  const runtime::NamedDataMap* map = *program->get_named_data_map();
  EXPECT_EQ(*map->get_num_keys(), 1u);
  EXPECT_STREQ(*map->get_key(0), "key");
  EXPECT_EQ(map->get_key(1).error(), Error::InvalidArgument);
  const runtime::Result<runtime::FreeableBuffer> data = map->get_data("key");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(std::string(static_cast<const char*>(data->data()), data->size()), "named");
  EXPECT_EQ(map->get_data("other").error(), Error::NotFound);
  char copy[5];
  EXPECT_EQ(map->load_data_into("key", copy, 5), Error::Ok);
  EXPECT_EQ(memcmp(copy, "named", 5), 0);
  EXPECT_EQ(map->load_data_into("key", copy, 4), Error::InvalidArgument);
  EXPECT_EQ(map->get_tensor_layout("key").error(), Error::NotFound);
}

TEST(Program, HasNoMapWithoutNamedData) {
  LoadedProgram program(add_program());
  EXPECT_EQ(program->get_named_data_map().error(), Error::NotFound);
}

TEST(Program, ReleasesAllItsData) {
  const ProgramFile file(program_with_segments());
  FileLoader loader(file);
  {
    const auto program = Program::load(&loader);
  }
  EXPECT_EQ(loader.loads, loader.frees);
  EXPECT_GT(loader.loads, 0);
}

TEST(MethodMeta, MatchesTheProgram) {
  TestProgram source = add_program();
  TestPlan& plan = source.plans[0];
  TestTensor named;
  named.name = "weight";
  named.memory_id = 1;
  named.sizes = {1, 4};
  named.dim_order = {0, 1};
  plan.values.push_back(tensor(named));
  plan.values.push_back(integer(3));
  plan.inputs.push_back(4);
  plan.buffer_sizes = {0, 64, 128};
  plan.delegates = {{"A"}, {"B"}};
  source.inline_data = {"x"};
  LoadedProgram program(source);
  const runtime::MethodMeta meta = *program->method_meta("forward");
  EXPECT_STREQ(meta.name(), "forward");
  EXPECT_EQ(meta.num_inputs(), 3u);
  EXPECT_EQ(meta.num_outputs(), 1u);
  EXPECT_EQ(*meta.input_tag(0), Tag::Tensor);
  EXPECT_EQ(*meta.input_tag(2), Tag::Int);
  EXPECT_EQ(*meta.output_tag(0), Tag::Tensor);
  const runtime::TensorInfo info = *meta.input_tensor_meta(1);
  EXPECT_EQ(info.sizes().size(), 1u);
  EXPECT_EQ(info.sizes()[0], 2);
  EXPECT_EQ(info.nbytes(), 8u);
  EXPECT_EQ(info.scalar_type(), aten::ScalarType::Float);
  EXPECT_TRUE(info.is_memory_planned());
  EXPECT_EQ(meta.num_memory_planned_buffers(), 2u);
  EXPECT_EQ(*meta.memory_planned_buffer_size(1), 128);
  EXPECT_EQ(meta.num_attributes(), 1u);
  EXPECT_EQ(meta.attribute_tensor_meta(0)->name(), "weight");
  EXPECT_TRUE(meta.uses_backend("B"));
  EXPECT_FALSE(meta.uses_backend("C"));
  EXPECT_EQ(meta.num_backends(), 2u);
  EXPECT_STREQ(*meta.get_backend_name(1), "B");
  EXPECT_EQ(meta.num_instructions(), 1u);
  EXPECT_EQ(meta.num_operators(), 1u);
  EXPECT_STREQ(meta.operator_name(0)->name, "test::add");
  EXPECT_STREQ(meta.operator_name(0)->overload, "out");

  const LogCapture log;
  EXPECT_EQ(meta.input_tag(3).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.input_tensor_meta(2).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.output_tensor_meta(1).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.memory_planned_buffer_size(2).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.attribute_tensor_meta(1).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.get_backend_name(2).error(), Error::InvalidArgument);
  EXPECT_EQ(meta.operator_name(1).error(), Error::InvalidArgument);
}

}  // namespace
}  // namespace executorch::testing
