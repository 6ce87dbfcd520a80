// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of one byte by a table that the nodes of the function compute when it is created.
#include <map>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/operator_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/eltwise/lookup.h>

namespace executorch::backends::xnnpack {

using engine::LookupTable;
using runtime::Error;

namespace {

/// Runs nodes on all bytes.
class TableOfNodes final {
 public:
  TableOfNodes(const std::vector<Node>& nodes, const OperatorContext& context)
      : nodes_(nodes), context_(context) {
    every_byte_.rank = 1;
    every_byte_.dims[0] = LookupTable::kSize;
  }

  Error compute(uint32_t source) {
    auto* const bytes = reinterpret_cast<uint8_t*>(memory_of(source));
    for (size_t i = 0; i < LookupTable::kSize; ++i) {
      bytes[i] = static_cast<uint8_t>(i);
    }
    for (const Node& node : nodes_) {
      const std::unique_ptr<Operator> op = ET_UNWRAP(create_operator(node, context_));
      Tensors tensors;
      for (size_t i = 0; i < node.operand_count; ++i) {
        tensors.operands[i] = tensor(node.operand(i));
      }
      tensors.results[0] = tensor(node.result());
      ET_CHECK_OK_OR_RETURN_ERROR(op->reshape(tensors));
      std::vector<char> scratch(op->scratch_bytes() + kScratchAlignment);
      const auto misaligned = reinterpret_cast<uintptr_t>(scratch.data()) % kScratchAlignment;
      tensors.scratch = scratch.data() + (kScratchAlignment - misaligned);
      ET_CHECK_OK_OR_RETURN_ERROR(op->bind(tensors));
      ET_CHECK_OK_OR_RETURN_ERROR(op->run());
    }
    return Error::Ok;
  }

  LookupTable table() {
    return LookupTable(reinterpret_cast<const uint8_t*>(memory_of(nodes_.back().result())));
  }

 private:
  static constexpr size_t kScratchAlignment = 64;

  TensorRef tensor(uint32_t id) {
    const Value& value = context_.graph.values[id];
    return value.is_constant() ? TensorRef{&value, &scalar_, const_cast<void*>(value.data)}
                               : TensorRef{&value, &every_byte_, memory_of(id)};
  }

  char* memory_of(uint32_t id) {
    std::vector<char>& memory = memory_[id];
    memory.resize(bytes_of(context_.graph.values[id].datatype, every_byte_) + kReadBeyond);
    return memory.data();
  }

  const std::vector<Node>& nodes_;
  const OperatorContext& context_;
  Shape every_byte_, scalar_;
  std::map<uint32_t, std::vector<char>> memory_;
};

class Lookup final : public EngineOperator {
 public:
  Lookup(const OperatorContext& context, const LookupTable& table)
      : EngineOperator("Lookup (NC, X8)", context), table_(table) {}

  bool may_overwrite(size_t) const override { return true; }

  Error reshape(const Tensors& t) override {
    count_ = static_cast<size_t>(elements(*t.operands[0].shape));
    return Error::Ok;
  }
  Error run() override {
    table_.run(static_cast<const uint8_t*>(tensors().operands[0].data),
               static_cast<uint8_t*>(tensors().results[0].data), count_, threads());
    return Error::Ok;
  }

 private:
  LookupTable table_;
  size_t count_ = 0;
};

}  // namespace

OperatorResult create_lookup(const Node& node, const OperatorContext& context) {
  TableOfNodes nodes(context.graph.lookups[node.lookup], context);
  ET_CHECK_OK_OR_RETURN_ERROR(nodes.compute(node.operand(0)));
  return std::unique_ptr<Operator>(std::make_unique<Lookup>(context, nodes.table()));
}

}  // namespace executorch::backends::xnnpack
