// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/options.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <executorch/extension/executor_runner/report/failure.h>

namespace executorch::extension::executor_runner {
namespace {

/// Returns the parts between commas. An empty text has none, because an empty value is the
/// documented default, and scripts pass variables that may be empty.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  if (text.empty()) {
    return parts;
  }
  size_t begin = 0;
  for (size_t comma = 0; comma != std::string::npos; begin = comma + 1) {
    comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma == std::string::npos ? comma : comma - begin));
  }
  return parts;
}

size_t positive_number(const char* option, const char* text) {
  char* end = nullptr;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < 1) {
    fail(std::string("--") + option + ": expected a number from 1 on, found '" + text + "'");
  }
  return static_cast<size_t>(value);
}

/// A number, or "none".
size_t limit(const char* option, const char* text) {
  return strcmp(text, "none") == 0 || strcmp(text, "0") == 0 ? 0 : positive_number(option, text);
}

double tolerance(const char* option, const char* text) {
  char* end = nullptr;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0)) {
    fail(std::string("--") + option + ": expected a number from 0 on, found '" + text + "'");
  }
  return value;
}

/// -1 stands for the default number, as documented.
void set_threads(Options& options, const char* text) {
  options.threads = strcmp(text, "-1") == 0 ? 0 : positive_number("threads", text);
}

/// The words that gflags, the parser of the documented program, accepts as yes and no.
bool truth(const char* option, const char* text) {
  for (const char* yes : {"true", "t", "yes", "y", "1"}) {
    if (strcmp(text, yes) == 0) {
      return true;
    }
  }
  for (const char* no : {"false", "f", "no", "n", "0"}) {
    if (strcmp(text, no) == 0) {
      return false;
    }
  }
  fail(std::string("--") + option + ": expected true or false, found '" + text + "'");
}

/// Parses "2x3" as {2, 3}; an empty text has no sizes.
std::vector<int32_t> sizes_of(const std::string& text) {
  std::vector<int32_t> sizes;
  const char* rest = text.c_str();
  while (*rest != '\0') {
    char* end = nullptr;
    errno = 0;
    const long long size = strtoll(rest, &end, 10);
    const bool is_last = *end == '\0';
    const bool is_followed = *end == 'x' && end[1] != '\0';
    if (end == rest || errno != 0 || size < 0 || size > INT32_MAX || !(is_last || is_followed)) {
      fail("--input_shapes: expected sizes such as 1x98, found '" + text + "'");
    }
    sizes.push_back(static_cast<int32_t>(size));
    rest = is_last ? end : end + 1;
  }
  return sizes;
}

void set_input_shapes(Options& options, const char* text) {
  options.input_shapes.clear();
  for (const std::string& shape : split_at_commas(text)) {
    options.input_shapes.push_back(sizes_of(shape));
  }
}

struct PrintOutputName {
  const char* name;
  PrintOutput value;
};

constexpr PrintOutputName kPrintOutputNames[] = {{"short", PrintOutput::Short},
                                                 {"summary", PrintOutput::Summary},
                                                 {"all", PrintOutput::All},
                                                 {"shape", PrintOutput::Shape},
                                                 {"none", PrintOutput::None}};

PrintOutput print_output_named(const char* text) {
  for (const PrintOutputName& row : kPrintOutputNames) {
    if (strcmp(row.name, text) == 0) {
      return row.value;
    }
  }
  fail(std::string("--print_output: expected short, summary, all, shape or none, found '") + text +
       "'");
}

/// An option: name of its value (null for a flag), description, setter.
struct Row {
  const char* name;
  const char* value;
  const char* help;
  void (*set)(Options& options, const char* text);
};

constexpr Row kRows[] = {
    {"model_path", "FILE", "the program (.pte); required",
     [](Options& options, const char* text) { options.model_path = text; }},
    {"bundled", nullptr,
     "the file must be a bundled program (.bpte), and its test cases are compared closely",
     [](Options& options, const char* text) { options.bundled = truth("bundled", text); }},
    {"rtol", "NUMBER",
     "relative tolerance of a test case's outputs; default: 1e-5 with --bundled, "
     "else 0.01",
     [](Options& options, const char* text) { options.rtol = tolerance("rtol", text); }},
    {"atol", "NUMBER", "absolute tolerance; default: 1e-8 with --bundled, else 0.01",
     [](Options& options, const char* text) { options.atol = tolerance("atol", text); }},
    {"bundleio_rtol", "NUMBER", "the same as --rtol",
     [](Options& options, const char* text) { options.rtol = tolerance("bundleio_rtol", text); }},
    {"bundleio_atol", "NUMBER", "the same as --atol",
     [](Options& options, const char* text) { options.atol = tolerance("bundleio_atol", text); }},
    {"data_path", "FILE,...", "files with weights of the program (.ptd)",
     [](Options& options, const char* text) { options.data_paths = split_at_commas(text); }},
    {"verify", "FILE",
     "run only if this signature (python -m executorch.devtools sign) covers program and data",
     [](Options& options, const char* text) { options.signature = text; }},
    {"public_key", "FILE", "for --verify: the public key of the signer (PEM)",
     [](Options& options, const char* text) { options.public_key = text; }},
    {"method", "NAME", "the method to run; default: forward, or the only one",
     [](Options& options, const char* text) { options.method = text; }},
    {"method_name", "NAME", "the same as --method",
     [](Options& options, const char* text) { options.method = text; }},
    {"inputs", "FILE,...", "a file of raw bytes for each tensor input; default: ones",
     [](Options& options, const char* text) { options.inputs = split_at_commas(text); }},
    {"input_shapes", "SIZES,...",
     "sizes of each input, e.g. 1x98,,1x50: an empty one stays as it is", set_input_shapes},
    {"server_mode", nullptr,
     "run once for each line of standard input: read --inputs again, write --output_file",
     [](Options& options, const char* text) { options.server_mode = truth("server_mode", text); }},
    {"num_executions", "N", "how often to run; default: 1",
     [](Options& options, const char* text) {
       options.num_executions = positive_number("num_executions", text);
     }},
    {"threads", "N", "threads to run on; default: one for each physical core that may be used",
     set_threads},
    {"cpu_threads", "N", "the same", set_threads},
    {"max_planned_bytes", "BYTES",
     "maximum memory that a method may request; default: 3/4 of the machine's; 0 or none: no "
     "limit",
     [](Options& options, const char* text) {
       options.max_planned_bytes = limit("max_planned_bytes", text);
     }},
    {"max_workspace_bytes", "BYTES",
     "maximum memory for intermediate results of one delegate of XNNPACK; default: 3/4 of the "
     "machine's; 0 or none: no limit",
     [](Options& options, const char* text) {
       options.max_workspace_bytes = limit("max_workspace_bytes", text);
     }},
    {"instruction_budget", "N",
     "maximum number of instructions in the loops of a run; default: no limit",
     [](Options& options, const char* text) {
       options.instruction_budget = limit("instruction_budget", text);
     }},
    {"compute_precision", "NAME",
     "precision of the factors in XNNPACK's float32 products: fp32 or bf16",
     [](Options& options, const char* text) { options.compute_precision = text; }},
    {"packed_cache", "FILE", "keep weights as XNNPACK packs them, for the next start",
     [](Options& options, const char* text) { options.packed_cache = text; }},
    {"print_output", "WHAT",
     "short (default) or summary: the first and last 5 or 100 values of each output; all, shape, "
     "none",
     [](Options& options, const char* text) { options.print_output = print_output_named(text); }},
    {"output_file", "PREFIX", "write the bytes of output tensor I to PREFIX-I.bin",
     [](Options& options, const char* text) { options.output_file = text; }},
    {"etdump_path", "FILE", "record the run's events, and write them to this file (.etdp)",
     [](Options& options, const char* text) { options.etdump_path = text; }},
    {"debug_output_path", "FILE",
     "with --etdump_path: write the bytes of every operator's outputs to this file",
     [](Options& options, const char* text) { options.debug_output_path = text; }},
    {"debug_buffer_size", "BYTES", "limit of the bytes for --debug_output_path; default: 67108864",
     [](Options& options, const char* text) {
       options.debug_buffer_size = positive_number("debug_buffer_size", text);
     }},
    {"list", nullptr, "print methods, inputs, outputs, operators, backends and memory; run nothing",
     [](Options& options, const char* text) { options.list = truth("list", text); }},
    {"help", nullptr, "print this",
     [](Options& options, const char* text) { options.help = truth("help", text); }},
};
constexpr size_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace

Options parse_options(int argc, char** argv) {
  // Every option, then the negations of the flags.
  option table[2 * kRowCount + 1] = {};
  std::string negations[kRowCount];
  size_t filled = kRowCount;
  int negated_row[kRowCount] = {};
  for (size_t i = 0; i < kRowCount; ++i) {
    table[i].name = kRows[i].name;
    table[i].has_arg = kRows[i].value == nullptr ? optional_argument : required_argument;
    if (kRows[i].value == nullptr) {
      negations[i] = std::string("no") + kRows[i].name;
      negated_row[filled - kRowCount] = static_cast<int>(i);
      table[filled++] = {negations[i].c_str(), no_argument, nullptr, 0};
    }
  }
  Options options;
  opterr = 0;
  int row = 0;
  // The documented program accepts options with a single dash.
  for (int code = 0; (code = getopt_long_only(argc, argv, ":", table, &row)) != -1;) {
    if (code == ':') {
      fail(std::string(argv[optind - 1]) + " needs a value; see --help");
    }
    if (code != 0) {
      fail(std::string("unknown option ") + argv[optind - 1] + "; see --help");
    }
    if (static_cast<size_t>(row) >= kRowCount) {
      kRows[negated_row[row - kRowCount]].set(options, "false");
    } else {
      kRows[row].set(options, optarg == nullptr ? "true" : optarg);
    }
  }
  if (optind < argc && options.model_path.empty()) {
    options.model_path = argv[optind++];
  }
  if (optind < argc) {
    fail(std::string("unexpected argument '") + argv[optind] + "'; see --help");
  }
  constexpr const char* kDocumentedDefault = "model.pte";
  if (options.model_path.empty() && access(kDocumentedDefault, R_OK) == 0) {
    options.model_path = kDocumentedDefault;
  }
  if (options.model_path.empty() && !options.help) {
    fail("--model_path is required; see --help");
  }
  if (options.signature.empty() != options.public_key.empty()) {
    fail("--verify and --public_key require each other; see --help");
  }
  if (options.server_mode && options.output_file.empty()) {
    fail("--server_mode needs --output_file, where the outputs of each run go; see --help");
  }
  if (!options.debug_output_path.empty() && options.etdump_path.empty()) {
    fail("--debug_output_path requires --etdump_path, which describes the bytes; see --help");
  }
  return options;
}

void print_help() {
  printf(
      "executor_runner runs a method of a program, in exactly the memory that its file states."
      "\n\nexecutor_runner [--model_path] FILE [options]\n\n");
  for (const Row& row : kRows) {
    const std::string name = std::string("--") + row.name + (row.value == nullptr ? "" : " ");
    printf("  %-26s %s\n", (name + (row.value == nullptr ? "" : row.value)).c_str(), row.help);
  }
}

}  // namespace executorch::extension::executor_runner
