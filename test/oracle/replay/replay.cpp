// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// replay [--mutations=N] [--extremes] [--seed=S] [--only=KERNEL] FILE...
// Runs recorded calls and compares the results with eager's; with mutations, runs N changed copies
// of each call instead, and with extremes, copies with values at the limits of their types
// (extremes.h), which may fail but neither crash nor hang. Each kernel runs in a process of its
// own, so that one that crashes hides no other. Without --only, every registered kernel must be
// called.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <executorch/runtime/kernel/operator_registry.h>

#include "replay/extremes.h"
#include "replay/mutate.h"
#include "replay/recorded_call.h"
#include "replay/run_call.h"

// Function of ASan's runtime; null in builds without ASan.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace {

using oracle::Call;

constexpr unsigned kSecondsPerCall = 20;
constexpr int kMaxFaults = 5;  // Reported for one kernel.

std::string current;  // The call that runs.

void print_current() { std::fprintf(stderr, "in %s\n", current.c_str()); }

}  // namespace

// Called by UBSan's runtime after a report.
extern "C" __attribute__((visibility("default"))) void __ubsan_on_report() { print_current(); }

namespace {

void die(int number) {
  std::fprintf(stderr, "%s ", number == SIGALRM ? "hangs" : "crashes");
  print_current();
  _exit(3);
}

struct Options {
  size_t mutations = 0;
  bool extremes = false;
  uint64_t seed = 1;
  std::string only;
  std::vector<const char*> files;
};

Options read_options(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.rfind("--mutations=", 0) == 0) {
      options.mutations = std::strtoul(value.c_str(), nullptr, 10);
    } else if (argument == "--extremes") {
      options.extremes = true;
    } else if (argument.rfind("--seed=", 0) == 0) {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (argument.rfind("--only=", 0) == 0) {
      options.only = value;
    } else {
      options.files.push_back(arguments[i]);
    }
  }
  return options;
}

/// Empty if all is well.
std::string run(Call call, bool mutated) {
  current = oracle::describe(call);
  alarm(kSecondsPerCall);
  const oracle::Outcome outcome = oracle::run_call(call);
  if (!mutated) return oracle::judge(call, outcome);
  const bool silent =
      outcome.run.error != executorch::runtime::Error::Ok && outcome.messages.empty();
  return silent ? "failed without a message" : "";
}

int run_all(const std::vector<Call>& calls, const Options& options) {
  int faults = 0;
  const auto examine = [&](Call call, bool changed) {
    const std::string fault = run(std::move(call), changed);
    if (fault.empty()) return;
    std::fprintf(stderr, "%s\n  %s\n", current.c_str(), fault.c_str());
    ++faults;
  };
  for (size_t i = 0; i < calls.size() && faults < kMaxFaults; ++i) {
    if (options.extremes) {
      oracle::each_extreme(calls[i], [&](Call call) { examine(std::move(call), true); });
    } else if (options.mutations == 0) {
      examine(calls[i], false);
    }
    const int before = faults;
    for (size_t m = 0; m < options.mutations && faults == before; ++m) {
      Call call = calls[i];
      oracle::Random random(options.seed * 1000003 + i * 1009 + m);
      oracle::mutate(call, random);
      examine(std::move(call), true);
    }
  }
  return faults == 0 ? 0 : 1;
}

/// Runs a kernel's calls in a child process; false if it found faults, crashed or hung.
bool run_apart(const std::vector<Call>& calls, const Options& options) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (__sanitizer_set_death_callback != nullptr) {
      __sanitizer_set_death_callback(print_current);
      signal(SIGALRM, die);
    } else {
      for (const int number : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL})
        signal(number, die);
    }
    _exit(run_all(calls, options));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Prims work on numbers or on other operators' memory; their own tests call them.
bool takes_recorded_calls(const std::string& name) {
  for (const char* prefix :
       {"executorch_prim::", "et_copy::", "aten::sym_", "aten::_local_scalar_dense"}) {
    if (name.rfind(prefix, 0) == 0) return false;
  }
  return true;
}

int report_uncalled(const std::map<std::string, std::vector<Call>>& by_kernel) {
  int uncalled = 0;
  for (size_t i = 0; i < executorch::runtime::registered_kernel_count(); ++i) {
    const char* name = executorch::runtime::registered_kernel(i).name_;
    if (by_kernel.count(name) != 0 || !takes_recorded_calls(name)) continue;
    std::fprintf(stderr, "no recorded call of %s\n", name);
    ++uncalled;
  }
  return uncalled;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = read_options(count, arguments);
  std::map<std::string, std::vector<Call>> by_kernel;
  size_t calls = 0;
  for (const char* file : options.files) {
    for (Call& call : oracle::read_calls(file)) {
      if (!options.only.empty() && call.name != options.only) continue;
      by_kernel[call.name].push_back(std::move(call));
      ++calls;
    }
  }
  int bad = 0;
  for (const auto& [name, of_kernel] : by_kernel) bad += run_apart(of_kernel, options) ? 0 : 1;
  if (options.only.empty()) bad += report_uncalled(by_kernel);
  std::printf("%zu calls of %zu kernels, %d kernels with faults\n", calls, by_kernel.size(), bad);
  return calls == 0 || bad != 0 ? 1 : 0;
}
