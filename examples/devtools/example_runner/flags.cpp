// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "flags.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <variant>

namespace {

struct Row {
  const char* name;
  const char* what;
  std::variant<std::string Flags::*, std::size_t Flags::*, bool Flags::*> member;
};

const Row kRows[] = {
    {"bundled_program_path", "the bundled program", &Flags::bundled_program_path},
    {"testset_idx", "the test case to run", &Flags::testset_idx},
    {"etdump_path", "where the events of the run are written", &Flags::etdump_path},
    {"output_verification", "compare the outputs with those of the case",
     &Flags::output_verification},
    {"print_output", "print the outputs", &Flags::print_output},
    {"dump_outputs", "record the outputs, too", &Flags::dump_outputs},
    {"dump_intermediate_outputs", "record every operator's outputs, too",
     &Flags::dump_intermediate_outputs},
    {"debug_output_path", "where recorded outputs are written", &Flags::debug_output_path},
    {"debug_buffer_size", "bytes of room for recorded outputs", &Flags::debug_buffer_size},
};

const Row* row_named(const std::string& name) {
  for (const Row& row : kRows) {
    if (name == row.name) {
      return &row;
    }
  }
  return nullptr;
}

bool set_number(const char* text, std::size_t* number) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  *number = static_cast<std::size_t>(value);
  return end != text && *end == '\0' && errno == 0 && value >= 0;
}

bool set_truth(const std::string& text, bool* truth) {
  *truth = text == "true" || text == "1" || text == "yes";
  return *truth || text == "false" || text == "0" || text == "no";
}

bool set_value(const Row& row, const std::string& text, Flags* flags) {
  if (const auto* const member = std::get_if<std::string Flags::*>(&row.member)) {
    flags->** member = text;
    return true;
  }
  if (const auto* const member = std::get_if<std::size_t Flags::*>(&row.member)) {
    return set_number(text.c_str(), &(flags->**member));
  }
  return set_truth(text, &(flags->*std::get<bool Flags::*>(row.member)));
}

void print_help() {
  std::puts("example_runner runs a test case of the first method of a bundled program.\n");
  for (const Row& row : kRows) {
    std::printf("  --%-26s %s\n", row.name, row.what);
  }
}

}  // namespace

bool parse_flags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    name.erase(0, name.rfind("--", 0) == 0 ? 2 : name.rfind('-', 0) == 0 ? 1 : 0);
    if (name == "help" || name == "h") {
      print_help();
      std::exit(0);
    }
    const std::size_t equal = name.find('=');
    std::string value = equal == std::string::npos ? "" : name.substr(equal + 1);
    name = name.substr(0, equal);
    const Row* row = row_named(name);
    const bool is_truth = row != nullptr && std::holds_alternative<bool Flags::*>(row->member);
    if (row == nullptr && name.rfind("no", 0) == 0 && equal == std::string::npos) {
      row = row_named(name.substr(2));
      value = "false";
    } else if (is_truth && equal == std::string::npos) {
      value = "true";
    } else if (row != nullptr && equal == std::string::npos && i + 1 < argc) {
      value = argv[++i];
    }
    if (row == nullptr || argv[i][0] == '\0' || !set_value(*row, value, flags)) {
      std::fprintf(stderr, "example_runner: %s '%s'; see --help\n",
                   row == nullptr ? "unknown option" : "wrong value of", argv[i]);
      return false;
    }
  }
  return true;
}
