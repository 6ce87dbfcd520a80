// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The alias model works in the memory of a method's values: they must be the program's afterwards.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/relations.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;

Error execute_with_inputs(runtime::Method& method) {
  FloatTensor input({1, 2});
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const Error error = method.set_input(input.value(), i);
    if (error != Error::Ok) return error;
  }
  return method.execute();
}

TEST(KeptValues, AreThoseOfTheProgramOnceAMethodIsLoaded) {
  TestProgram program = related_program();
  auto& values = plan(program).values;
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  values.push_back(integer(kLeast));
  values.push_back(real(-0.25));
  values.push_back(boolean(true));
  values.push_back(none());
  plan(program).outputs = {kAdded, kAdded + 1, kAdded + 2, kAdded + 3, kText,
                           kSizes, kOperands,  kOptional,  kFirst,     kDynamic};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  EXPECT_EQ(method->get_output(0).toInt(), kLeast);
  EXPECT_EQ(method->get_output(1).toDouble(), -0.25);
  EXPECT_TRUE(method->get_output(2).toBool());
  EXPECT_TRUE(method->get_output(3).isNone());
  EXPECT_EQ(method->get_output(4).toString(), plan(program).values[kText].string);
  EXPECT_EQ(method->get_output(5).toIntList().size(), plan(program).values[kSizes].list.size());
  EXPECT_EQ(method->get_output(6).toTensorList().size(), 2u);
  EXPECT_EQ(method->get_output(7).toListOptionalTensor().size(), 2u);
  EXPECT_EQ(method->get_output(8).toTensor().const_data_ptr(), method.memory().planned(0));
  EXPECT_EQ(method->get_output(9).toTensor().const_data_ptr(), method.memory().planned(0) + 40);
}

TEST(KeptValues, AreMovedByExecutionsAlone) {
  TestProgram program = related_program();
  plan(program).values.push_back(integer(5));
  plan(program).outputs = {kAdded};
  code(program) = {move(kTwo, kAdded)};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  EXPECT_EQ(method->get_output(0).toInt(), 5);
  ASSERT_EQ(execute_with_inputs(*method), Error::Ok);
  EXPECT_EQ(method->get_output(0).toInt(), 2);
}

TEST(KeptValues, ShowNothingIfTheyAreViewsOfEachOther) {
  TestProgram program = related_program();
  plan(program).values[kView] = planned(2, 0);
  plan(program).values.push_back(planned(2, 0));
  code(program) = {kernel(kApart, {kView, kView, kOther, kOther}), view_of(kView, kAdded),
                   view_of(kAdded, kView)};
  LoadedMethod method(program, 64);
  ASSERT_EQ(method.error(), Error::Ok);
  for (int i = 0; i < 2; ++i) {
    const LogCapture log;
    EXPECT_EQ(execute_with_inputs(*method), Error::InvalidState);
    EXPECT_TRUE(log.contains("a view has to be made in the same execution")) << log.text();
  }
}

}  // namespace
}  // namespace executorch::testing
