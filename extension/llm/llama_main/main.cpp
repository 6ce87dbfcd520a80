// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// llama_main: generates text with an exported language model.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

namespace llm = executorch::extension::llm;
using executorch::runtime::Error;

constexpr const char* kUsage =
    R"(llama_main --model_path=model.pte --tokenizer_path=tokenizer.json [options]

  --model_path=FILE        the exported program
  --data_paths=FILE,...    .ptd files with its weights
  --tokenizer_path=PATH    a tokenizer.json or its folder, or a file of tiktoken, sentencepiece,
                           tekken or llama2.c
  --prompt=TEXT            what the text begins with
  --prompt_file=FILE       the same from a file
  --temperature=NUMBER     0 takes the most likely token (default 0.8)
  --topp=NUMBER --topk=N --minp=NUMBER --repetition_penalty=NUMBER --seed=N
  --seq_len=N              maximum number of tokens, prompt included (default 128)
  --max_new_tokens=N       maximum number of new tokens (default: what seq_len leaves)
  --cpu_threads=N          threads (default: one for each processor core)
  --num_bos=N --num_eos=N  tokens before and after the prompt that begin and end texts
  --warmup                 generates once before, without output
  --stop=TEXT              ends the output after this text; may be given several times
  --ignore_eos             continues after a token that ends the text
  --method_name=NAME       the method to run (default forward)
)";

struct Options {
  std::string model_path, tokenizer_path, prompt = "The answer to the ultimate question is",
                                          prompt_file, data_paths, method_name = "forward";
  llm::GenerationConfig config;
  long cpu_threads = 0;
  bool warmup = false;
};

bool refuse(const char* name, const char* expected, const char* found) {
  std::fprintf(stderr, "llama_main: --%s: expected %s, found '%s'\n", name, expected, found);
  return false;
}

bool read(const char* name, const char* text, double low, double high, double& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtod(text, &end);
  const bool is_number = end != text && *end == '\0' && errno == 0 && value >= low && value <= high;
  return is_number || refuse(name, "a number in range", text);
}

template <typename T>
bool read_into(const char* name, const char* text, double low, double high, T& value) {
  double read_value = 0;
  if (!read(name, text, low, high, read_value)) return false;
  value = static_cast<T>(read_value);
  return true;
}

bool read_flag(const char* name, const char* text, bool& value) {
  value = *text == '\0' || std::strcmp(text, "true") == 0 || std::strcmp(text, "1") == 0;
  return value || std::strcmp(text, "false") == 0 || std::strcmp(text, "0") == 0 ||
         refuse(name, "true or false", text);
}

bool read_option(const std::string& name, const char* text, Options& options) {
  const std::pair<const char*, std::string*> texts[] = {
      {"model_path", &options.model_path}, {"tokenizer_path", &options.tokenizer_path},
      {"prompt", &options.prompt},         {"prompt_file", &options.prompt_file},
      {"data_paths", &options.data_paths}, {"method_name", &options.method_name}};
  for (const auto& [known, value] : texts) {
    if (name == known) {
      *value = text;
      return true;
    }
  }
  llm::GenerationConfig& config = options.config;
  if (name == "stop") {
    config.stop_strings.emplace_back(text);
    return true;
  }
  const char* const key = name.c_str();
  constexpr double kMax = 1e9;
  if (name == "temperature") return read_into(key, text, 0, kMax, config.temperature);
  if (name == "topp") return read_into(key, text, 0, 1, config.topp);
  if (name == "minp") return read_into(key, text, 0, 1, config.minp);
  if (name == "topk") return read_into(key, text, 0, kMax, config.topk);
  if (name == "repetition_penalty") return read_into(key, text, 0, kMax, config.repetition_penalty);
  if (name == "seed") return read_into(key, text, 0, 9e15, config.seed);
  if (name == "seq_len") return read_into(key, text, -1, kMax, config.seq_len);
  if (name == "max_new_tokens") return read_into(key, text, -1, kMax, config.max_new_tokens);
  if (name == "cpu_threads") return read_into(key, text, -1, 1024, options.cpu_threads);
  if (name == "num_bos") return read_into(key, text, 0, 100, config.num_bos);
  if (name == "num_eos") return read_into(key, text, 0, 100, config.num_eos);
  if (name == "warmup") return read_flag(key, text, options.warmup);
  if (name == "ignore_eos") return read_flag(key, text, config.ignore_eos);
  std::fprintf(stderr, "llama_main: unknown option --%s\n%s", key, kUsage);
  return false;
}

bool read_options(int argc, char** argv, Options& options) {
  options.config.seq_len = 128;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    const size_t dashes = name.find_first_not_of('-');
    if (dashes == 0 || dashes == std::string::npos) {
      std::fprintf(stderr, "llama_main: expected an option, found '%s'\n", argv[i]);
      return false;
    }
    name.erase(0, dashes);
    const size_t equals = name.find('=');
    std::string value = equals == std::string::npos ? "" : name.substr(equals + 1);
    name.resize(equals == std::string::npos ? name.size() : equals);
    const bool is_flag = name == "warmup" || name == "ignore_eos";
    if (equals == std::string::npos && !is_flag && i + 1 < argc) value = argv[++i];
    if (!read_option(name, value.c_str(), options)) return false;
  }
  if (options.model_path.empty() || options.tokenizer_path.empty()) {
    std::fprintf(stderr, "llama_main: expected --model_path and --tokenizer_path\n%s", kUsage);
    return false;
  }
  if (!options.prompt_file.empty()) {
    std::ifstream stream(options.prompt_file, std::ios::binary);
    if (!stream) return refuse("prompt_file", "a file", options.prompt_file.c_str());
    options.prompt.assign(std::istreambuf_iterator<char>(stream), {});
  }
  return true;
}

std::vector<std::string> divided(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) parts.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  Options options;
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (!read_options(argc, argv, options)) return 2;
  if (options.cpu_threads > 0) {
    executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(
        uint32_t(options.cpu_threads));
  }
  auto tokenizer = llm::load_tokenizer(options.tokenizer_path);
  if (tokenizer == nullptr) return 1;
  auto runner =
      llm::create_text_llm_runner(options.model_path, std::move(tokenizer),
                                  divided(options.data_paths), -1.0f, nullptr, options.method_name);
  if (runner == nullptr) return 1;
  if (options.warmup && runner->warmup(options.prompt, 4) != Error::Ok) return 1;
  const Error error = runner->generate(
      options.prompt, options.config,
      [](const std::string& text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
      },
      [](const llm::Stats& stats) { llm::print_report(stats); });
  return error == Error::Ok ? 0 : 1;
}
