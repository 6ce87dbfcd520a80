# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Each how-to of docs/contributing adds one thing in the places that it names, and the thing works.

The tests add it to copies of the files, in a temporary folder; test_how_tos_in_cpp.py has what is compiled.
"""

import dataclasses
import importlib
import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import torch
from docs.changed_tree import ChangedTree
from docs.code_blocks import ROOT

from executorch.backends.xnnpack.operators import composed, table
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer import patterns
from executorch.backends.xnnpack.quantizer.annotation import quantized_result
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.devtools import __main__ as devtools_command
from executorch.devtools import command
from executorch.examples.models.llama import hugging_face_config
from executorch.examples.models.llama.model_args import ModelArgs, ModelArgsError
from executorch.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.error import Rejection
from executorch.exir.program import executorch_steps
from executorch.runtime import Runtime

# Names that a how-to gives to what is added.
PLACEHOLDERS = {
    "libraries_of_PART",
    "EXECUTORCH_NAME",
    "EXECUTORCH_BUILD_",
    "EXECUTORCH_ENABLE_",
    "VerbNounPass",
    "verb_noun_pass",
    "test_verb_noun_pass",
    "NAME_option_key",
    "test_NAME",
}


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"how_to_{file.stem.strip('_')}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_devtools_command_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "counting.py").write_text(
        "from pathlib import Path\n"
        "from executorch.devtools.command.arguments import Command\n"
        "def _add(parser):\n"
        "    parser.add_argument('program')\n"
        "def _run(options):\n"
        "    print(Path(options.program).stat().st_size, 'bytes')\n"
        "    return 0\n"
        "COUNT = Command('count', 'count the bytes of a file', 'Counts bytes.', _add, _run)\n"
    )
    monkeypatch.setattr(command, "__path__", [*command.__path__, str(tmp_path)])
    (tmp_path / "model.pte").write_bytes(b"12345")
    assert devtools_command.main(["count", str(tmp_path / "model.pte")]) == 0
    assert capsys.readouterr().out == "5 bytes\n"


def test_an_export_option_is_an_argument_and_its_use(tmp_path: Path) -> None:
    argument = '    parser.add_argument("model", metavar="MODEL"'
    export_command = ChangedTree(tmp_path).change(
        "export/command.py",
        (argument, f"    parser.add_argument('--page', action='store_true', help='align to 4096 bytes')\n{argument}"),
        (
            "    if not options.fast_memory:\n",
            "    config = replace(config, segment_alignment=4096 if options.page else 128)\n"
            "    if not options.fast_memory:\n",
        ),
    )
    model, program = tmp_path / "model.py", tmp_path / "model.pte"
    model.write_text("import torch\ndef make():\n    return torch.nn.Linear(4, 2).eval(), (torch.ones(1, 4),)\n")
    assert _load(export_command).main([f"{model}:make", "--page", "--quiet", "-o", str(program)]) == 0
    assert int.from_bytes(program.read_bytes()[24:32], "little") % 4096 == 0  # the first segment's offset


def test_a_pass_is_a_file_and_a_line_of_the_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "remove_double_negation_pass.py").write_text(
        "from executorch.exir.dialects._ops import ops\n"
        "from executorch.exir.graph_module import all_graph_modules\n"
        "from executorch.exir.passes.graph_pass import GraphPass\n"
        "from torch.fx.passes.infra.pass_base import PassResult\n"
        "class RemoveDoubleNegationPass(GraphPass):\n"
        "    '''Replace neg(neg(x)) by x.\\n\\n    Helps: tests.'''\n"
        "    def call(self, graph_module):\n"
        "        modified, negation = False, ops.edge.aten.neg.default\n"
        "        for module in all_graph_modules(graph_module):\n"
        "            for node in list(module.graph.nodes):\n"
        "                inner = node.args[0] if node.target is negation else None\n"
        "                if inner is not None and inner.target is negation:\n"
        "                    node.replace_all_uses_with(inner.args[0])\n"
        "                    modified = True\n"
        "        return PassResult(graph_module, modified)\n"
    )
    before = "        _on_graph(CancelRearrangementsPass()),"
    pipeline = ChangedTree(tmp_path).change(
        "exir/program/pipeline.py",
        (before, f"        _on_graph(RemoveDoubleNegationPass()),  # before no-ops\n{before}"),
        (
            "from executorch.exir.passes.simplify.cse_pass",
            "from remove_double_negation_pass import RemoveDoubleNegationPass\n"
            "from executorch.exir.passes.simplify.cse_pass",
        ),
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    changed = _load(pipeline)
    monkeypatch.setattr(executorch_steps, "steps_to_out_variants", changed.steps_to_out_variants)

    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.neg(torch.neg(x)) + 1

    program = to_edge(torch.export.export(Twice(), (torch.ones(2),))).to_executorch()
    assert [op.name for op in program.executorch_program.execution_plan[0].operators] == ["aten::add"]
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    page = _load(ROOT / "docs/_ext/pipeline_steps.py")
    page.pipeline = changed
    assert "| `RemoveDoubleNegationPass` | Replace neg(neg(x)) by x | tests |  |  |" in page.page()


def test_an_xnnpack_rule_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = composed._composed(
        lambda f, node: f.finish(g.Subtract, f.step(g.Exp, f.x), f.scalar(1.0)),
        lambda node, program: Rejection("it is scalar") if node.meta["val"].dim() == 0 else None,
    )
    monkeypatch.setattr(table, "RULES", {**table.RULES, "aten.expm1.default": rule})

    class Expm1(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.expm1(x)

    def lowered(x: torch.Tensor) -> ExecutorchProgramManager:
        exported = torch.export.export(Expm1(), (x,))
        return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()

    x = torch.linspace(0.5, 2, 12)
    program = lowered(x)
    assert not program.executorch_program.execution_plan[0].operators
    (output,) = Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
    torch.testing.assert_close(output, torch.expm1(x))
    (fallback,) = lowered(torch.tensor(0.5)).verdict.methods[0].fallbacks
    assert fallback.reasons == {"XnnpackPartitioner": "it is scalar"}


def test_a_quantizer_annotation_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    class Erf(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.erf(torch.sigmoid(x))

    def annotated() -> bool:
        captured = torch.export.export(Erf(), (torch.ones(2, 3),)).module()
        XNNPACKQuantizer().set_global(get_symmetric_quantization_config()).annotate(captured)
        (node,) = captured.graph.find_nodes(op="call_function", target=torch.ops.aten.erf.default)
        return quantized_result(node) is not None

    assert not annotated()
    row = patterns.Pattern(patterns.Kind.COMPUTED, (torch.ops.aten.erf.default,))
    monkeypatch.setitem(patterns.PATTERN_OF, torch.ops.aten.erf.default, row)
    assert annotated()


def test_a_cmake_option_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = 'define_overridable_option(EXECUTORCH_ENABLE_LOGGING "Compile log messages in" BOOL ON)\n'
    added = line.replace("ENABLE_LOGGING", "ENABLE_TOYS").replace("log messages", "toys")
    defaults = ChangedTree(tmp_path).change("tools/cmake/preset/default.cmake", (line, f"{line}{added}"))

    def configured(name: str, file: Path) -> subprocess.CompletedProcess[str]:
        included = (
            ROOT / "tools/cmake/common/preset.cmake",
            file,
            *(ROOT / "cmake" / f"{name}_options.cmake" for name in ("documented", "refused")),
        )
        folder = tmp_path / name
        folder.mkdir()
        text = "".join(f'include("{path}")\n' for path in included)
        head = "cmake_minimum_required(VERSION 3.24)\nproject(toys LANGUAGES NONE)\n"
        (folder / "CMakeLists.txt").write_text(f'{head}{text}message(STATUS "toys: ${{EXECUTORCH_ENABLE_TOYS}}")\n')
        command = ("cmake", "-S", folder, "-B", folder / "build", "-DEXECUTORCH_ENABLE_TOYS=ON")
        return subprocess.run(command, capture_output=True, text=True)

    done = configured("declared", defaults)
    assert done.returncode == 0 and "toys: ON" in done.stdout, done.stderr
    refused = configured("unknown", ROOT / "tools/cmake/preset/default.cmake")
    assert "EXECUTORCH_ENABLE_TOYS=ON: this project has no such option" in re.sub(r"\s+", " ", refused.stderr)
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    page = importlib.import_module("cmake_options")
    monkeypatch.setattr(page, "DEFAULTS", defaults)
    assert "| `EXECUTORCH_ENABLE_TOYS` | `ON` | Compile toys in |" in page.page()


def test_a_family_of_decoders_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config.json"
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 64}
    config.write_text(json.dumps({"model_type": "toy", **sizes}))
    with pytest.raises(ModelArgsError, match=r"model_type: expected one of .*, found 'toy'"):
        ModelArgs.from_hugging_face(config)
    monkeypatch.setitem(hugging_face_config._FAMILIES, "toy", lambda path, config: {"use_qk_norm": True})
    args = dataclasses.asdict(ModelArgs.from_hugging_face(config))
    assert args["dim"] == 32 and args["use_qk_norm"]


CAPPED_LOGITS = """
import torch
from torch import nn

class Capped(nn.Module):
    def __init__(self, layer, cap):
        super().__init__()
        self.layer, self.cap = layer, cap

    def forward(self, x):
        return torch.tanh(self.layer(x) / self.cap) * self.cap

def cap_logits(model, cap):
    model.output = Capped(model.output, cap)
    return model
"""
EXPORT_CAPPED = """
import sys
import torch
from executorch.examples.models.llama.export_llama_lib import build_args_parser, build_model, lower_llama
from executorch.extension.llm.export.config.llm_config import LlmConfig
from executorch.extension.llm.export.export_llm import read_config
from executorch.runtime import Runtime

params = sys.argv[2]
config = read_config([f"base.params={params}", "model.logit_cap=0.01"])
older = LlmConfig.from_args(build_args_parser().parse_args(["-p", params, "--logit_cap", "0.01"]))
program = lower_llama(build_model(config), config).buffer
(logits,) = Runtime.get().load_program(program).load_method("forward").execute((torch.tensor([[1, 2, 3]]),))
print(older == config, 0 < float(logits.abs().max()) <= 0.01)
"""


def test_a_source_transformation_is_a_function_an_option_and_a_call(tmp_path: Path) -> None:
    tree = ChangedTree(tmp_path)
    llama, configuration = "examples/models/llama", "extension/llm/export/config"
    tree.add(f"{llama}/source_transformation/capped_logits.py", CAPPED_LOGITS)
    field = "    kv_cache_dtype: DtypeOverride | None = None\n"
    tree.change(f"{configuration}/llm_config.py", (field, f"{field}    logit_cap: float | None = None\n"))
    row = "--expand_rope_table | model.expand_rope_table |"
    tree.change(f"{configuration}/older_options.py", (row, f"--logit_cap | model.logit_cap | largest logit\n{row}"))
    quantize = "    return quantize_linear_layers(model, quantization, others)\n"
    imported = f"from executorch.{llama.replace('/', '.')}.source_transformation.shared_embedding"
    tree.change(
        f"{llama}/export_llama_lib.py",
        (imported, f"{imported.replace('shared_embedding', 'capped_logits')} import cap_logits\n{imported}"),
        (quantize, f"    if config.model.logit_cap:\n        cap_logits(model, config.model.logit_cap)\n{quantize}"),
    )
    sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "vocab_size": 30, "hidden_dim": 24}
    params = tmp_path / "params.json"
    params.write_text(json.dumps(sizes))
    assert tree.run_python(EXPORT_CAPPED, params) == "True True\n"


@pytest.fixture(scope="module")
def words() -> frozenset[str]:
    """All words of source files, and of their paths."""
    listed = subprocess.run(
        ("git", "ls-files"), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = [name for name in listed if name.endswith((".py", ".cpp", ".h", ".inc", ".fbs", ".yaml", ".cmake", ".txt"))]
    return frozenset(re.findall(r"\w+", " ".join([*names, *((ROOT / name).read_text() for name in names)])))


@pytest.mark.parametrize("page", sorted((ROOT / "docs/contributing").glob("add-*.md")), ids=lambda page: page.stem)
def test_a_how_to_names_only_what_exists(page: Path, words: frozenset[str]) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    named = {
        name for span in re.findall(r"`([^`\n]+)`", prose) for name in re.findall(r"\w*_\w+|[A-Z]+[a-z]+[A-Z]\w+", span)
    }
    assert not {name for name in named - PLACEHOLDERS if name not in words}
