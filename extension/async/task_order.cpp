// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/task_order.h>

#include <string.h>

#include <algorithm>
#include <utility>

#include <executorch/extension/async/memory_effects.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::extension::or_no_memory;
using executorch::runtime::internal::text;

namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 3;
/// With more tasks, the order matrix (a bit for each pair) and the search for shared memory cost
/// more time than concurrency saves.
constexpr size_t kMaxTasks = 1 << 14;
constexpr size_t kMaxComparisons = 1 << 26;
/// Each pair that no others imply takes up to 256 words of work.
constexpr size_t kMaxPairs = 1 << 20;

/// (earlier, later)
using Pair = std::pair<uint32_t, uint32_t>;

/// A set of pairs of tasks, with a bit for each pair.
class Pairs final {
 public:
  explicit Pairs(size_t tasks) : row_((tasks + 63) / 64), bits_(row_ * tasks) {}

  bool has(Pair pair) const {
    return (bits_[pair.second * row_ + pair.first / 64] >> pair.first % 64 & 1) != 0;
  }
  /// The earlier tasks of the pairs whose later task is `second`, in descending order.
  std::vector<uint32_t> earlier_than(uint32_t second) const {
    std::vector<uint32_t> tasks;
    for (uint32_t word = second / 64 + 1; word-- > 0;) {
      for (uint64_t bits = bits_[second * row_ + word]; bits != 0;) {
        const auto highest = static_cast<uint32_t>(63 - __builtin_clzll(bits));
        tasks.push_back(word * 64 + highest);
        bits ^= uint64_t{1} << highest;
      }
    }
    return tasks;
  }
  void add(Pair pair) {
    bits_[pair.second * row_ + pair.first / 64] |= uint64_t{1} << pair.first % 64;
  }
  /// Adds a pair to a transitive order: the tasks that are done when a task begins. All pairs whose
  /// later task is `pair`'s earlier one must have been added.
  void add_transitive(Pair pair) {
    uint64_t* const later = bits_.data() + pair.second * row_;
    const uint64_t* const earlier = bits_.data() + pair.first * row_;
    for (size_t i = 0; i <= pair.first / 64; ++i) {
      later[i] |= earlier[i];
    }
    add(pair);
  }

 private:
  size_t row_;
  std::vector<uint64_t> bits_;
};

/// The task order stated in the program; empty without one.
Result<FreeableBuffer> stated_order(const Program& program, const char* method) {
  const Result<const NamedDataMap*> data_map = program.get_named_data_map();
  const uint32_t keys = data_map.ok() ? ET_UNWRAP((*data_map)->get_num_keys()) : 0;
  const size_t prefix = strlen(kTaskOrderPrefix);
  for (uint32_t i = 0; i < keys; ++i) {
    const char* const key = ET_UNWRAP((*data_map)->get_key(i));
    if (strncmp(key, kTaskOrderPrefix, prefix) == 0 && strcmp(key + prefix, method) == 0) {
      return (*data_map)->get_data(key);
    }
  }
  return FreeableBuffer(nullptr, 0, nullptr);
}

Result<std::vector<uint32_t>> words_of(const FreeableBuffer& stated, const char* method) {
  ET_CHECK_OR_RETURN_ERROR(
      stated.size() % sizeof(uint32_t) == 0 && stated.size() >= kHeader * sizeof(uint32_t),
      InvalidProgram, "method '%s', order of tasks: expected 32-bit words, found %zu bytes", method,
      stated.size());
  std::vector<uint32_t> words(stated.size() / sizeof(uint32_t));
  memcpy(words.data(), stated.data(), stated.size());
  return words;
}

/// Reads and validates ends and pairs.
Error read_order(const std::vector<uint32_t>& words, const char* method, size_t instructions,
                 std::vector<uint32_t>* ends, std::vector<Pair>* pairs) {
  ET_CHECK_OR_RETURN_ERROR(words[0] == kVersion, NotSupported,
                           "method '%s', order of tasks: version %u, expected %u", method, words[0],
                           kVersion);
  const size_t tasks = words[1];
  const size_t rest = words.size() - kHeader;
  bool is_valid = tasks <= rest && (rest - tasks) % 2 == 0 && words[2] == (rest - tasks) / 2;
  for (size_t i = 0; is_valid && i < tasks; ++i) {
    is_valid = words[kHeader + i] > (i == 0 ? 0 : ends->back());
    ends->push_back(words[kHeader + i]);
  }
  is_valid = is_valid && (tasks == 0 ? instructions == 0 : ends->back() == instructions);
  for (size_t i = kHeader + tasks; is_valid && i < words.size(); i += 2) {
    pairs->emplace_back(words[i], words[i + 1]);
    is_valid = words[i] < words[i + 1] && words[i + 1] < tasks;
  }
  ET_CHECK_OR_RETURN_ERROR(is_valid, InvalidProgram,
                           "method '%s', order of tasks: %zu tasks in %zu words are invalid for "
                           "%zu instructions",
                           method, tasks, words.size(), instructions);
  return Error::Ok;
}

/// Checks that jumps stay within their task or go to its end.
Error check_jumps(const std::vector<uint32_t>& ends, const char* method, const MethodBlock& block) {
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    for (uint32_t i = begin; i < end; ++i) {
      const Instruction& instruction = block.instructions[i];
      ET_CHECK_OR_RETURN_ERROR(instruction.opcode != Opcode::JumpFalse ||
                                   (instruction.number >= begin && instruction.number <= end),
                               InvalidProgram,
                               "method '%s', order of tasks: instruction %u jumps out of its task",
                               method, i);
    }
    begin = end;
  }
  return Error::Ok;
}

/// Finds pairs of tasks that access the same position, at least one of them writing; false if that
/// takes too many comparisons.
bool find_conflicts(std::vector<MemoryEffect> effects, const std::vector<uint32_t>& ends,
                    Pairs* pairs) {
  std::sort(
      effects.begin(), effects.end(), [](const MemoryEffect& left, const MemoryEffect& right) {
        return std::make_pair(left.space, left.begin) < std::make_pair(right.space, right.begin);
      });
  for (MemoryEffect& effect : effects) {
    const auto end = std::upper_bound(ends.begin(), ends.end(), effect.instruction);
    effect.instruction = static_cast<uint32_t>(end - ends.begin());
  }
  size_t looks = 0;
  for (size_t i = 0; i < effects.size(); ++i) {
    const MemoryEffect& effect = effects[i];
    for (size_t j = i + 1;
         j < effects.size() && effects[j].space == effect.space && effects[j].begin < effect.end;
         ++j) {
      const MemoryEffect& other = effects[j];
      if (++looks > kMaxComparisons) return false;
      if (effect.instruction != other.instruction && (effect.is_written || other.is_written)) {
        pairs->add(std::minmax(effect.instruction, other.instruction));
      }
    }
  }
  return true;
}

/// Sets the order of all pairs, without transitively implied ones; false if these are too many.
bool make_order(std::vector<uint32_t> ends, const Pairs& pairs, TaskOrder* order) {
  const auto tasks = static_cast<uint32_t>(ends.size());
  Pairs before(tasks);
  std::vector<Pair> kept;
  order->waits_for.resize(tasks);
  order->first_follower.resize(tasks + 1);
  for (uint32_t second = 0; second < tasks; ++second) {
    for (const uint32_t first : pairs.earlier_than(second)) {
      const Pair pair(first, second);
      if (before.has(pair)) continue;
      if (kept.size() == kMaxPairs) return false;
      before.add_transitive(pair);
      kept.push_back(pair);
      ++order->waits_for[second];
      ++order->first_follower[first + 1];
    }
  }
  for (size_t i = 0; i < tasks; ++i) {
    order->first_follower[i + 1] += order->first_follower[i];
  }
  order->followers.resize(kept.size());
  std::vector<uint32_t> next(order->first_follower);
  for (const Pair& pair : kept) {
    order->followers[next[pair.first]++] = pair.second;
  }
  order->ends = std::move(ends);
  return true;
}

TaskOrder one_task(size_t instructions) {
  TaskOrder order;
  order.ends = {static_cast<uint32_t>(instructions)};
  order.waits_for = {0};
  order.first_follower = {0, 0};
  return order;
}

TaskOrder undivided(const char* method, size_t instructions, const char* why) {
  ET_LOG(Info, "method '%s': %s; it runs as a single task", method, why);
  return one_task(instructions);
}

Result<TaskOrder> order_from(const FreeableBuffer& stated, const fb::ExecutionPlan& plan,
                             const MethodBlock& block) {
  const char* const method = text(plan.name());
  const size_t instructions = block.instructions.size();
  if (stated.size() == 0) {
    return undivided(method, instructions, "the program states no order of tasks");
  }
  const std::vector<uint32_t> words = ET_UNWRAP(words_of(stated, method));
  std::vector<uint32_t> ends;
  std::vector<Pair> stated_pairs;
  ET_CHECK_OK_OR_RETURN_ERROR(read_order(words, method, instructions, &ends, &stated_pairs));
  ET_CHECK_OK_OR_RETURN_ERROR(check_jumps(ends, method, block));
  if (ends.empty()) {
    return one_task(instructions);
  }
  if (!block.plan_words.empty() || !block.growths.empty()) {
    return undivided(method, instructions, "locations of tensors are only known at run time");
  }
  constexpr const char* kTooLarge = "it has too many tasks, or they depend on too many others";
  if (ends.size() > kMaxTasks) {
    return undivided(method, instructions, kTooLarge);
  }
  std::vector<MemoryEffect> effects;
  if (!collect_memory_effects(plan, block, &effects)) {
    return undivided(method, instructions, "tensors are moved, or views are of several buffers");
  }
  Pairs pairs(ends.size());
  for (const Pair& pair : stated_pairs) {
    pairs.add(pair);
  }
  TaskOrder order;
  if (!find_conflicts(std::move(effects), ends, &pairs) ||
      !make_order(std::move(ends), pairs, &order)) {
    return undivided(method, instructions, kTooLarge);
  }
  return order;
}

}  // namespace

Result<TaskOrder> load_task_order(const Program& program, const fb::ExecutionPlan& plan,
                                  const MethodBlock& block) {
  const FreeableBuffer stated = ET_UNWRAP(stated_order(program, text(plan.name())));
  return or_no_memory("an order of tasks", [&] { return order_from(stated, plan, block); });
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
