# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Each how-to of docs/contributing that adds C++ is followed in copies of the files, which are built and run."""

import dataclasses
import subprocess
from pathlib import Path

import peer_programs
import pytest
import torch
from compilers import COMPILER
from docs.changed_tree import ChangedTree, run
from docs.code_blocks import ROOT

from executorch.codegen.binding import Library, bind_kernels

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler"),
    pytest.mark.sampled(by="file"),
]

CALL_KERNEL = """
import torch
from oracle.kernels.kernel_entry import call_kernel, registered_kernels

schema = torch._C.parse_schema("aten::softer.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
x = torch.tensor([-1.0, 0.0, 3.0])
(found,) = call_kernel("aten::softer.out", x, out=torch.empty(3), schema=schema).outputs
refused = call_kernel("aten::softer.out", x, out=torch.empty(3, dtype=torch.int64), schema=schema)
print(*registered_kernels(), found.tolist(), refused.error != 0)
"""


def test_a_portable_operator_is_a_row_and_a_line(tmp_path: Path) -> None:
    tree = ChangedTree(tmp_path)
    line = "- func: rsqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
    row = "UNARY_Z(rsqrt, "
    added = line.replace("rsqrt", "softer")
    yaml = tree.change("kernels/portable/functions.yaml", (line, f"{line}{added}"))
    source = tree.change(
        "kernels/portable/pointwise/unary.cpp", (row, f"UNARY(softer, Floating, x / (1 + std::fabs(x)))\n{row}")
    )
    library = Library("portable", "executorch/kernels/portable", yaml, namespace="executorch::kernels::portable")
    bind_kernels(library, tmp_path)
    only_added = dataclasses.replace(library, functions_yaml=tree.add("added.yaml", added))
    bind_kernels(only_added, tmp_path / "registered")
    objects = tree.compile(
        source,
        tmp_path / "registered/executorch/kernels/portable/RegisterKernels.cpp",
        ROOT / "test/oracle/kernels/kernel_entry.cpp",
    )
    archives = ("kernels/libkernel_engine.a", "runtime/libexecutorch_core.a")
    entry = tree.link_library("libadded.so", objects, archives)
    # Programs that repeat recorded calls lack this kernel.
    settings = {"EXECUTORCH_KERNEL_ENTRY": str(entry), "EXECUTORCH_RECORD_CALLS": ""}
    printed = tree.run_python(CALL_KERNEL, cwd=ROOT / "test", **settings)
    assert printed == "aten::softer.out [-0.5, 0.0, 0.75] True\n"


TOY_OPTION = """
#include <cstdio>

#include <executorch/backends/xnnpack/runtime/backend_options.h>

using namespace executorch;

int main() {
  backends::xnnpack::Settings settings;
  runtime::BackendOptions<1> options;
  if (options.set_option(backends::xnnpack::toy_count_option_key, 7) != runtime::Error::Ok) return 1;
  runtime::BackendOption option = options.view()[0];
  const bool is_set = settings.set(option) == runtime::Error::Ok;
  option.value = 0;
  const bool is_read = settings.get(option) == runtime::Error::Ok;
  std::printf("%d %d %d ", is_set, is_read, std::get<int>(option.value));
  option.value = true;
  std::printf("%d", settings.set(option) == runtime::Error::InvalidArgument);
}
"""


def test_a_backend_option_is_a_key_a_field_and_two_branches(tmp_path: Path) -> None:
    tree, folder = ChangedTree(tmp_path), "backends/xnnpack/runtime"
    mode = "/// Delegates that share scratch memory, and therefore run one at a time.\n"
    key = 'inline constexpr char toy_count_option_key[] = "toy_count";\n\n'
    tree.change(f"{folder}/XNNPACKBackend.h", (mode, key + mode))
    limit = "  size_t max_workspace_bytes = extension::three_quarters_of_memory();\n"
    tree.change(f"{folder}/backend_options.h", (limit, f"{limit}  int toys = 0;\n"))
    start = "Error Settings::{}BackendOption& option){} {{\n"
    changes = (
        (start.format("set(const ", ""), 'return read(option, "an int", toys);'),
        (start.format("get(", " const"), "return option.value = toys, Error::Ok;"),
    )
    source = tree.change(
        f"{folder}/backend_options.cpp",
        *((line, f"{line}  if (is_called(option, toy_count_option_key)) {branch}\n") for line, branch in changes),
    )
    objects = tree.compile(source, tree.add("main.cpp", TOY_OPTION))
    assert run([str(tree.link("executor_runner", objects))]) == "1 1 7 1"


PRODUCTS = """
// Products of the elements up to each, along a dimension.
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>

namespace executorch::backends::xnnpack {
namespace {

class Products final : public EngineOperator {
 public:
  Products(const Node& node, const OperatorContext& context)
      : EngineOperator("Cumulative Product (ND, F32)", context),
        axis_(node.as<fb_xnnpack::CumulativeProduct>().axis()) {}

  runtime::Error reshape(const Tensors& t) override {
    const Shape& shape = *t.operands[0].shape;
    size_ = shape.dims[axis_];
    outer_ = inner_ = 1;
    for (size_t d = 0; d < axis_; ++d) outer_ *= shape.dims[d];
    for (size_t d = axis_ + 1; d < shape.rank; ++d) inner_ *= shape.dims[d];
    return runtime::Error::Ok;
  }

  runtime::Error run() override {
    for (size_t i = 0; i < outer_ * inner_; ++i) {
      const size_t first = i / inner_ * size_ * inner_ + i % inner_;
      float product = 1;
      for (size_t at = first; at < first + size_ * inner_; at += inner_) {
        result()[at] = product *= operand(0)[at];
      }
    }
    return runtime::Error::Ok;
  }

 private:
  size_t axis_, size_ = 0, outer_ = 0, inner_ = 0;
};

}  // namespace

OperatorResult create_cumulative_product(const Node& node, const OperatorContext& context) {
  return std::unique_ptr<Operator>(std::make_unique<Products>(node, context));
}

}  // namespace executorch::backends::xnnpack
"""

LOWER_PRODUCTS = """
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

# The check would load the delegate with the Python extension of the unchanged tree.
config = ExecutorchBackendConfig(check_target=False)

class Products(torch.nn.Module):
    def forward(self, x):
        return torch.cumprod(x, 1)

for dtype in (torch.float32, torch.float16):
    exported = torch.export.export(Products(), (torch.ones(2, 3, 2, dtype=dtype),))
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch(config)
    assert not program.executorch_program.execution_plan[0].operators
    program.save(f"{sys.argv[2]}/{dtype}.pte")
"""


def test_an_xnnpack_node_is_a_schema_entry_a_rule_and_a_row(tmp_path: Path) -> None:
    tree, kind = ChangedTree(tmp_path), "CumulativeProduct"
    _change_compiler_of_products(tree)
    folder = "backends/xnnpack/runtime"
    row = "NODE(StaticGather, StaticGather, gather, create_gather, Same)\n"
    tree.change(
        f"{folder}/payload/node_kinds.inc",
        (row, f"{row}NODE({kind}, {kind}, same_along, create_cumulative_product, Same)\n"),
    )
    last = "{Layout::StaticGather, fb::StaticGather::VT_FLAGS, Role::Flags},\n"
    roles = {"AXIS": "Number", "INPUT_ID": "Operand", "OUTPUT_ID": "Result", "FLAGS": "Flags"}
    fields = "".join(f"{{Layout::{kind}, fb::{kind}::VT_{name}, Role::{role}}},\n" for name, role in roles.items())
    tree.change(
        f"{folder}/payload/node_table.h",
        ("  StaticGather,\n};", f"  StaticGather,\n  {kind},\n}};"),
        (last, last + fields),
    )
    declared = "OperatorResult create_gather(const Node& node, const OperatorContext& context);\n"
    tree.change(
        f"{folder}/operators/families.h", (declared, declared + declared.replace("gather", "cumulative_product"))
    )
    inferred = "  bool gather(const fb::StaticGather& n);\n"
    sizes = f"""
  bool same_along(const fb::{kind}& n) {{
    const Shape* x = shapes_[n.input_id()];
    return x != nullptr && n.axis() < x->rank && same(n);
  }}
"""
    tree.change(f"{folder}/payload/shape_inference.cpp", (inferred, inferred + sizes))
    # Sources that read the table of kinds; a build finds them by its dependencies.
    for name in ("graph/widen", "graph/graph", "operators/operator_table", "weights/weight_keys"):
        tree.change(f"{folder}/{name}.cpp")
    for name in ("payload/shared_parts", "payload/payload_structure", "payload/payload"):
        tree.change(f"{folder}/{name}.cpp")
    tree.add(f"{folder}/operators/engine/products.cpp", PRODUCTS)
    objects = tree.compile(*sorted(tree.folder.rglob("*.cpp")))
    runner = tree.link("executor_runner", objects)

    tree.run_python(LOWER_PRODUCTS, tmp_path)
    for dtype in (torch.float32, torch.float16):
        x = torch.linspace(-2, 2, 12, dtype=dtype).reshape(2, 3, 2)
        x.numpy().tofile(tmp_path / "x.bin")
        files = (f"{dtype}.pte", "--inputs=x.bin", "--output_file=y")
        run([str(runner), *files], cwd=tmp_path)
        y = torch.from_file(str(tmp_path / "y-0.bin"), size=12, dtype=dtype).reshape(2, 3, 2)
        torch.testing.assert_close(y, torch.cumprod(x, 1))


def _change_compiler_of_products(tree: ChangedTree) -> None:
    """Add the node to the schema and to its Python mirror, and the rule that emits it."""
    folder, kind = "backends/xnnpack", "CumulativeProduct"
    table = f"table {kind} {{ axis: uint; input_id: uint; output_id: uint; flags: uint; }}\n"
    union = "union XNodeUnion {"
    schema = tree.change(
        f"{folder}/serialization/xnnpack_graph.fbs",
        (union, table + union),
        ("  StaticGather,\n}", f"  StaticGather,\n  {kind},\n}}"),
    )
    flags = ("--cpp", "--cpp-std", "c++11", "--scoped-enums", "-o", str(schema.parent))
    run(["flatc", *flags, str(schema)])
    mirror = f"""
@dataclass
class {kind}:
    axis: int
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


NODE_KINDS"""
    tree.change(
        f"{folder}/serialization/xnnpack_graph.py",
        ("    StaticGather,\n)", f"    StaticGather,\n    {kind},\n)"),
        ("\nNODE_KINDS", mirror),
    )
    rule = f"""
def _products(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    order = low.order_of(source)
    axis = place_of(cast(int, node.args[1]), order)
    low.add(g.{kind}(axis, low.read(source, order), low.result(node, order)), node)


RULES: dict[str, Rule] = {{
    "cumprod.default": Rule(_products),"""
    tree.change(f"{folder}/operators/reduction.py", ("RULES: dict[str, Rule] = {", rule))


BYTES = """
#pragma once
#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers {

class Bytes final : public Tokenizer {
 public:
  Error load(const std::string& path) override;
  Result<std::vector<uint64_t>> encode(const std::string& input, int8_t, int8_t) const override;
  Result<std::string> decode(uint64_t previous, uint64_t token, bool) const override;
  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;
};

}  // namespace tokenizers
"""

BYTES_SOURCE = """
#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/runtime/platform/log.h>
#include <pytorch/tokenizers/bytes.h>

namespace tokenizers {

Error Bytes::load(const std::string& path) {
  const auto text = internal::read_file(path);
  if (!text.ok()) return text.error();
  if (*text != "bytes\\n") {
    ET_LOG(Error, "tokenizer: expected the line 'bytes' alone, found %zu bytes", text->size());
    return Error::ParseFailure;
  }
  vocab_size_ = 256;
  initialized_ = true;
  return Error::Ok;
}

Result<std::vector<uint64_t>> Bytes::encode(const std::string& input, int8_t, int8_t) const {
  std::vector<uint64_t> tokens;
  for (const char c : input) tokens.push_back(uint8_t(c));
  return tokens;
}

Result<std::string> Bytes::decode(uint64_t, uint64_t token, bool) const { return id_to_piece(token); }

Result<std::string> Bytes::id_to_piece(uint64_t token) const {
  if (token > 255) return Error::OutOfRange;
  return std::string(1, char(token));
}

Result<uint64_t> Bytes::piece_to_id(const std::string& text) const {
  if (text.size() != 1) return Error::OutOfRange;
  return uint8_t(text[0]);
}

}  // namespace tokenizers
"""

OPEN_BYTES = """
#include <executorch/extension/llm/tokenizers/open_tokenizer.h>
#include <executorch/runtime/platform/runtime.h>
#include <stdio.h>

int main(int, char** arguments) {
  executorch::runtime::runtime_init();
  const auto opened = tokenizers::internal::open_tokenizer(arguments[1], {});
  if (!opened.ok()) return puts("refused") < 0;
  const auto tokens = (*opened)->encode("h\\xc3\\xa9");
  for (const uint64_t token : *tokens) printf("%d ", int(token));
  puts((*opened)->decode_text(*tokens)->c_str());
}
"""


def test_a_kind_of_tokenizer_is_a_class_and_a_branch(tmp_path: Path) -> None:
    tree = ChangedTree(tmp_path)
    folder = "extension/llm/tokenizers"
    tree.add(f"{folder}/include/pytorch/tokenizers/bytes.h", BYTES)
    include, branch = "#include <pytorch/tokenizers/sentencepiece.h>\n", "  if (is_sentencepiece(head)) "
    source = tree.change(
        f"{folder}/open_tokenizer.cpp",
        (include, f"{include}#include <pytorch/tokenizers/bytes.h>\n"),
        (branch, f'  if (head.substr(0, 5) == "bytes") return std::make_unique<Bytes>();\n{branch}'),
    )
    tree.includes += [base / folder / "include" for base in (tree.folder, ROOT)]
    objects = tree.compile(source, tree.add(f"{folder}/bytes.cpp", BYTES_SOURCE), tree.add("main.cpp", OPEN_BYTES))
    program = tree.link("llama_main", objects, keep=False)
    valid, damaged = tree.add("valid.txt", "bytes\n"), tree.add("damaged.txt", "bytes 7\n")
    assert run([str(program), str(valid)]) == "104 195 169 hé\n"
    assert run([str(program), str(damaged)]) == "refused\n"


def test_an_option_of_executor_runner_is_a_member_a_row_and_its_use(tmp_path: Path) -> None:
    tree, folder = ChangedTree(tmp_path), "extension/executor_runner"
    member, row = "  bool help = false;\n", '    {"num_executions", '
    loop = "  for (size_t i = 0; i < options.num_executions; ++i) {\n"
    parse = '[](Options& options, const char* text) { options.warm_up = positive_number("warm_up", text); }'
    added = f'    {{"warm_up", "N", "runs before the timed ones", {parse}}},\n'
    use = '  printf("%zu runs before\\n", options.warm_up);\n'
    tree.change(f"{folder}/options.h", (member, f"{member}  size_t warm_up = 0;\n"))
    sources = (
        tree.change(f"{folder}/options.cpp", (row, added + row)),
        tree.change(f"{folder}/main.cpp", (loop, use + loop)),
    )
    runner = str(tree.link("executor_runner", tree.compile(*sources)))
    program = str(peer_programs.path("add"))
    assert "3 runs before\n" in run([runner, program, "--warm_up=3"])
    assert "--warm_up N" in run([runner, "--help"])
    refused = subprocess.run([runner, program, "--warm_up=0"], capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr == "executor_runner: --warm_up: expected a number from 1 on, found '0'\n"
