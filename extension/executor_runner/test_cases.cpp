// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/test_cases.h>

#include <stdio.h>

#include <map>
#include <string_view>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/executor_runner/load/loaded_method.h>
#include <executorch/extension/executor_runner/report/event_record.h>
#include <executorch/extension/executor_runner/report/failure.h>
#include <executorch/runtime/core/event_tracer_hooks.h>

namespace executorch::extension::executor_runner {
namespace {

using bundled_program::InputMemory;
using bundled_program::OutputError;
using bundled_program::TestCase;
using bundled_program::TestSuite;
using runtime::Error;
using runtime::Result;

struct Counts {
  size_t passed = 0;
  size_t failed = 0;
  size_t not_compared = 0;
};

/// Sets the inputs anew each time: a method may use an input's planned memory for other values.
/// Returns the last ones, which outputs may show.
Result<InputMemory> execute(runtime::Method& method, const TestCase& test_case, size_t times) {
  InputMemory inputs;
  for (size_t i = 0; i < times; ++i) {
    inputs = ET_UNWRAP(bundled_program::set_inputs(method, test_case));
    ET_CHECK_OK_OR_RETURN_ERROR(method.execute());
  }
  return inputs;
}

void print_failure(Error error) {
  printf("FAILED: %s: %s\n", runtime::to_string(error), take_messages().c_str());
}

bool print_result(const OutputError& error, const Options& options) {
  const bool passed = error.beyond == 0;
  if (!passed) {
    printf("FAILED: %zu of %zu numbers beyond %g + %g * |expected|; ", error.beyond, error.count,
           options.atol_or_default(), options.rtol_or_default());
  } else {
    printf("passed: %zu numbers; ", error.count);
  }
  printf("largest error %.3g, relative %.3g\n", error.max_absolute, error.max_relative);
  return passed;
}

void run_case(runtime::Method& method, const TestCase& test_case, const Options& options,
              Counts& counts) {
  const Result<InputMemory> inputs = execute(method, test_case, options.num_executions);
  if (!inputs.ok()) {
    print_failure(inputs.error());
    ++counts.failed;
    return;
  }
  if (test_case.expected_size() == 0) {
    printf("ran: no expected outputs\n");
    ++counts.not_compared;
    return;
  }
  const Result<OutputError> error = bundled_program::output_error(
      method, test_case, {options.rtol_or_default(), options.atol_or_default()});
  if (!error.ok()) {
    print_failure(error.error());
    ++counts.failed;
    return;
  }
  ++(print_result(*error, options) ? counts.passed : counts.failed);
}

void run_suite(const TestSuite& suite, runtime::Method& method, EventRecord& record,
               const Options& options, Counts& counts) {
  for (size_t i = 0; i < suite.size(); ++i) {
    ET_RUNTIME_NAMESPACE::internal::event_tracer_set_bundled_input_index(record.tracer(),
                                                                         static_cast<int>(i));
    printf("%s, case %zu: ", suite.method_name(), i);
    run_case(method, require(suite.test_case(i), "no test case"), options, counts);
  }
}

/// The suites that have test cases of the chosen method, a group for each method, in the order in
/// which the file mentions the methods first. A file may list a method thousands of times: it is
/// loaded once.
std::vector<std::vector<TestSuite>> chosen_suites(const bundled_program::Bundle& bundle,
                                                  const Options& options) {
  std::vector<std::vector<TestSuite>> groups;
  std::map<std::string_view, size_t> group_of;
  for (size_t i = 0; i < bundle.suites_size(); ++i) {
    const TestSuite suite = bundle.suite(i);
    if (suite.size() > 0 && (options.method.empty() || options.method == suite.method_name())) {
      const auto [group, is_new] = group_of.emplace(suite.method_name(), groups.size());
      if (is_new) groups.emplace_back();
      groups[group->second].push_back(suite);
    }
  }
  return groups;
}

}  // namespace

bool run_test_cases(const bundled_program::Bundle& bundle, const runtime::Program& program,
                    const Options& options) {
  EventRecord record(options);
  const std::unique_ptr<DataFiles> data = load_data_files(options);
  Counts counts;
  for (const std::vector<TestSuite>& suites : chosen_suites(bundle, options)) {
    LoadedMethod loaded =
        load_method(program, suites[0].method_name(), options, *data, record.tracer());
    for (const TestSuite& suite : suites) {
      run_suite(suite, loaded.method, record, options, counts);
    }
  }
  record.write();
  const size_t all = counts.passed + counts.failed + counts.not_compared;
  if (all == 0) {
    fail("'" + options.model_path + "' has no test cases" +
         (options.method.empty() ? "" : " of the method '" + options.method + "'"));
  }
  printf("%zu test cases: %zu passed, %zu failed, %zu without expected outputs\n", all,
         counts.passed, counts.failed, counts.not_compared);
  return counts.failed == 0;
}

}  // namespace executorch::extension::executor_runner
