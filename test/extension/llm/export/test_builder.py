# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The builder's steps from a decoder to a file."""

import pytest
import torch

from executorch.examples.models.llama.llama_transformer import Transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.extension.llm.export.builder import BuilderError, DType, LLMEdgeManager
from executorch.extension.llm.export.config.llm_config import LlmConfigError
from executorch.extension.llm.export.partitioner_lib import get_xnnpack_partitioner
from executorch.extension.llm.export.quantizer_lib import get_pt2e_quantization_params, get_pt2e_quantizers
from executorch.runtime import Runtime


def manager(**options):
    torch.manual_seed(0)
    sizes = {"dim": 32, "n_layers": 1, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 40, "hidden_dim": 64}
    args = ModelArgs(**sizes, max_seq_len=16, use_kv_cache=True, enable_dynamic_shape=True)
    model = Transformer(args).eval()
    tokens = torch.randint(40, (1, 3))
    return LLMEdgeManager(model, "tiny", 16, True, (tokens, {"input_pos": torch.tensor([0])}), **options)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "in_one_step"), [(None, False), (None, True), ("xnnpack_dynamic", True)])
def test_the_chain_writes_a_file_with_the_logits_of_eager(tmp_path, name, in_one_step):
    chain = manager(enable_dynamic_shape=True, metadata='{"get_vocab_size": 40}')
    tokens, position = torch.randint(40, (1, 5)), torch.tensor([0])
    expected = chain.model(tokens, {"input_pos": position}).detach()
    chain.set_output_dir(str(tmp_path)).to_dtype(DType.fp32).source_transform([lambda model: model])
    chain.export().pt2e_quantize(get_pt2e_quantizers(get_pt2e_quantization_params(name)))
    partitioners = [get_xnnpack_partitioner(name is not None)]
    if in_one_step:
        chain.to_edge_transform_and_lower(partitioners)
    else:
        chain.export_to_edge().to_backend(partitioners)
    chain.to_executorch().save_to_pte("tiny")
    assert chain.get_saved_pte_filename() == str(tmp_path / "tiny.pte")
    program = Runtime.get().load_program(tmp_path / "tiny.pte")
    assert program.load_method("get_vocab_size").execute(())[0] == 40
    found = program.load_method("forward").execute((tokens, position))[0]
    near = 1e-5 if name is None else 0.05
    torch.testing.assert_close(found, expected, rtol=0, atol=near * float(expected.abs().max()))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda chain: chain.pt2e_quantize([object()]), "pt2e_quantize needs export before it"),
        (lambda chain: chain.to_backend([]), "to_backend needs export_to_edge before it"),
        (lambda chain: chain.to_executorch(), "to_executorch needs export_to_edge or"),
        (lambda chain: chain.save_to_pte("x"), "save_to_pte needs to_executorch before it"),
    ],
)
def test_a_step_out_of_order_names_the_missing_step(step, message):
    with pytest.raises(BuilderError, match=message):
        step(manager())


def test_save_exported_program_writes_the_exported_model_beside_the_file(tmp_path):
    chain = manager(save_exported_program=True).set_output_dir(str(tmp_path)).export().run_canonical_optimizations()
    loaded = torch.export.load(tmp_path / "tiny.pt2").module()
    torch.testing.assert_close(loaded(*chain.example_inputs), chain.pre_autograd_graph_module(*chain.example_inputs))


def test_calibration_by_tasks_is_refused_by_name():
    with pytest.raises(BuilderError, match="calibration_tasks, calibration_limit: expected None"):
        manager(calibration_tasks=["wikitext"], calibration_limit=1)


def test_options_of_another_kind_are_refused():
    with pytest.raises(BuilderError, match="metadata: expected JSON"):
        manager(metadata="{")
    with pytest.raises(BuilderError, match="dtype: expected float32"):
        DType.from_torch_dtype(torch.int8)
    with pytest.raises(LlmConfigError, match="expected one of xnnpack_dynamic"):
        get_pt2e_quantization_params("coreml_c4w")
    with pytest.raises(LlmConfigError, match="exclude each other"):
        get_pt2e_quantization_params("xnnpack_dynamic", "8da4w")
