// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs a fuzz target where there is no libFuzzer:
//
//   TARGET [--seconds=N] [--runs=N] [--seed=N] [--findings=FOLDER] [--keep=FOLDER] CORPUS...
//
// Runs the files of the corpus (files and folders), then changed copies of them, until --seconds
// have passed or --runs inputs have run (--runs=0: only the corpus). A child process does the work.
// An input that ends it is written to the folder of --findings, once for each reported place, and a
// new child continues. --keep writes inputs with new features, from which later children continue.
// The exit status is 1 if there was a finding.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "fuzz/engine/features.h"
#include "fuzz/engine/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
/// A target's own mutation; without one, bytes are changed.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                                size_t max_size, unsigned seed);
extern "C" __attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

namespace executorch::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;
namespace fs = std::filesystem;

constexpr size_t kMaxBytes = 1u << 20;
constexpr unsigned kSecondsPerRun = 25;
/// Share of the time that leak checks may take: each check visits all living blocks.
constexpr double kLeakCheckShare = 0.03;
constexpr size_t kMaxKept = 4000;

struct Options {
  double seconds = 10;
  uint64_t runs = UINT64_MAX;
  uint64_t seed = 1;
  std::string findings = "findings";
  std::string keep;
  std::vector<std::string> corpus;
};

/// Memory that the child and its parent share.
struct Shared {
  std::atomic<uint64_t> executions;
  std::atomic<uint64_t> children;
  std::atomic<uint64_t> features;
  std::atomic<size_t> size;
  uint8_t input[kMaxBytes];
};

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Options read_options(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.rfind("--seconds=", 0) == 0) {
      options.seconds = atof(value.c_str());
    } else if (argument.rfind("--runs=", 0) == 0) {
      options.runs = strtoull(value.c_str(), nullptr, 10);
    } else if (argument.rfind("--seed=", 0) == 0) {
      options.seed = strtoull(value.c_str(), nullptr, 10);
    } else if (argument.rfind("--findings=", 0) == 0) {
      options.findings = value;
    } else if (argument.rfind("--keep=", 0) == 0) {
      options.keep = value;
    } else {
      options.corpus.push_back(argument);
    }
  }
  return options;
}

Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Bytes> read_all(const std::vector<std::string>& files_and_folders) {
  std::vector<fs::path> paths;
  for (const std::string& given : files_and_folders) {
    if (!fs::is_directory(given)) {
      paths.emplace_back(given);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(given)) {
      if (entry.is_regular_file()) {
        paths.push_back(entry.path());
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> inputs;
  for (const fs::path& path : paths) {
    inputs.push_back(read(path));
    inputs.back().resize(std::min(inputs.back().size(), kMaxBytes));
  }
  return inputs;
}

void write(const fs::path& folder, const std::string& name, const uint8_t* data, size_t size) {
  fs::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

std::string hexadecimal(uint64_t number) {
  char text[17];
  snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

void change_bytes(Bytes& bytes, Random& random) {
  constexpr int64_t kNumbers[] = {0, 1, -1, 2, 255, 256, INT32_MAX, INT32_MIN, INT64_MAX};
  for (size_t changes = 1 + random.below(4); changes > 0; --changes) {
    const size_t size = bytes.size();
    if (size == 0 || random.one_in(12)) {
      bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(random.below(size + 1)),
                   static_cast<uint8_t>(random.next()));
    } else if (random.one_in(16)) {
      bytes.resize(random.below(size + 1));
    } else if (random.one_in(3) && size >= 8) {
      const size_t width = size_t{1} << random.below(4);
      const size_t at = random.below(size / width) * width;
      const int64_t number = kNumbers[random.below(std::size(kNumbers))];
      memcpy(bytes.data() + at, &number, width);
    } else {
      bytes[random.below(size)] = static_cast<uint8_t>(random.next());
    }
  }
}

/// The work, in a process that may end at any input.
class Child final {
 public:
  Child(const Options& options, Shared& shared, std::vector<Bytes> corpus, double end)
      : options_(options), shared_(shared), corpus_(std::move(corpus)), end_(end) {
    if (shared_.children > 0 && fs::exists(options.keep)) {
      // Inputs that earlier children have kept.
      for (Bytes& kept : read_all({options.keep})) {
        corpus_.push_back(std::move(kept));
      }
    }
  }

  void work() {
    const uint64_t child = shared_.children++;
    Random random(options_.seed * 1000003 + child);
    // Only the first child runs the corpus: one of its files may have ended an earlier child.
    for (size_t i = child == 0 ? 0 : corpus_.size(); i < corpus_.size(); ++i) {
      run(Bytes(corpus_[i]), /*is_kept=*/true);
    }
    while (shared_.executions < options_.runs && now() < end_) {
      run(changed(random), /*is_kept=*/false);
    }
    alarm(0);
    check_leaks();
  }

 private:
  Bytes changed(Random& random) {
    Bytes bytes = corpus_.empty() ? Bytes() : random.pick(corpus_);
    if (corpus_.empty() || random.one_in(64)) {
      bytes.resize(16 + random.below(240));
      for (uint8_t& byte : bytes) {
        byte = static_cast<uint8_t>(random.next());
      }
    }
    if (LLVMFuzzerCustomMutator == nullptr) {
      change_bytes(bytes, random);
    } else {
      std::copy(bytes.begin(), bytes.end(), room_.begin());
      const size_t size = LLVMFuzzerCustomMutator(room_.data(), bytes.size(), room_.size(),
                                                  static_cast<unsigned>(random.next()));
      bytes.assign(room_.begin(), room_.begin() + static_cast<ptrdiff_t>(size));
    }
    bytes.resize(std::min(bytes.size(), kMaxBytes));
    return bytes;
  }

  void run(Bytes bytes, bool is_kept) {
    // Not memcpy(): the data of an empty vector may be null.
    std::copy(bytes.begin(), bytes.end(), shared_.input);
    shared_.size = bytes.size();
    // Short runs share an alarm, because setting one is a system call.
    const double start = now();
    if (start >= next_alarm_) {
      alarm(kSecondsPerRun);
      next_alarm_ = start + 1;
    }
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++shared_.executions;
    bool is_new = false;
    for (const uint64_t feature : take_features()) {
      is_new = features_.insert(feature).second || is_new;
    }
    shared_.features = std::max<uint64_t>(shared_.features, features_.size());
    if (is_new && !is_kept && corpus_.size() < kMaxKept) {
      if (!options_.keep.empty()) {
        write(options_.keep, hexadecimal(hash_of({bytes.data(), bytes.size()})), bytes.data(),
              bytes.size());
      }
      corpus_.push_back(std::move(bytes));
    }
    if (start >= next_leak_check_) {
      check_leaks();
    }
  }

  void check_leaks() {
    const double start = now();
    if (__lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0) {
      abort();
    }
    const double end = now();
    next_leak_check_ = end + (end - start) / kLeakCheckShare;
  }

  const Options& options_;
  Shared& shared_;
  std::vector<Bytes> corpus_;
  double end_;
  double next_alarm_ = 0;
  double next_leak_check_ = now() + 1;
  Bytes room_ = Bytes(kMaxBytes);
  std::unordered_set<uint64_t> features_;
};

/// The line that describes the finding, without the parts that differ from run to run.
std::string summary_of(const std::string& report, int status) {
  for (const char* mark : {"SUMMARY: ", "runtime error: "}) {
    const size_t at = report.find(mark);
    if (at != std::string::npos) {
      size_t start = report.rfind('\n', at) + 1;
      std::string line = report.substr(start, report.find('\n', at) - start);
      // UBSan's messages have values in them.
      const size_t error = line.find("runtime error: ");
      for (size_t i = error; i < line.size(); ++i) {
        line[i] = line[i] >= '0' && line[i] <= '9' ? '#' : line[i];
      }
      return line;
    }
  }
  const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const std::string first_line = report.substr(0, report.find('\n'));
  return (number == SIGALRM ? std::string("hang") : "signal " + std::to_string(number)) + " " +
         first_line;
}

/// Runs a child that writes its messages to `log`. Returns its status, as of waitpid().
int run_child(const Options& options, Shared& shared, const std::vector<Bytes>& corpus, double end,
              const fs::path& log) {
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    if (freopen(log.c_str(), "w", stderr) == nullptr) {
      _exit(2);
    }
    setvbuf(stderr, nullptr, _IONBF, 0);
    Child(options, shared, corpus, end).work();
    fflush(nullptr);
    exit(0);  // not _exit(): builds that measure coverage write their data at exit
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

int run_all(const char* name, const Options& options) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    return 2;
  }
  auto& shared = *new (memory) Shared();
  const std::vector<Bytes> corpus = read_all(options.corpus);
  const double start = now();
  const double end = start + options.seconds;
  const fs::path log = fs::temp_directory_path() / ("fuzz-" + std::to_string(getpid()) + ".log");
  std::set<std::string> seen;
  do {
    const int status = run_child(options, shared, corpus, end, log);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      break;
    }
    const Bytes text = read(log);
    const std::string report(text.begin(), text.end());
    const std::string summary = summary_of(report, status);
    if (seen.insert(summary).second) {
      const std::string id =
          hexadecimal(hash_of({reinterpret_cast<const uint8_t*>(summary.data()), summary.size()}));
      write(options.findings, id, shared.input, shared.size);
      write(options.findings, id + ".txt", text.data(), text.size());
      printf("%s: FINDING after %llu executions, %.1f s: %s\n  again with: %s --runs=0 %s/%s\n",
             name, static_cast<unsigned long long>(shared.executions), now() - start,
             summary.c_str(), name, options.findings.c_str(), id.c_str());
      fflush(stdout);
    }
  } while (now() < end && shared.executions < options.runs);
  std::error_code ignored;
  fs::remove(log, ignored);
  printf("%s: %llu executions in %.1f s, seed %llu, %llu features, %zu findings\n", name,
         static_cast<unsigned long long>(shared.executions), now() - start,
         static_cast<unsigned long long>(options.seed),
         static_cast<unsigned long long>(shared.features), seen.size());
  return seen.empty() ? 0 : 1;
}

}  // namespace
}  // namespace executorch::fuzz

int main(int count, char** arguments) {
  return executorch::fuzz::run_all(arguments[0], executorch::fuzz::read_options(count, arguments));
}
