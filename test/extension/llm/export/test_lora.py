# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Adapters and programs of several methods: tokens against eager with merged weights, and sizes of files."""

import copy
import json
from pathlib import Path

import pytest
import torch
import transformers
from oracle.models.decoder_sizes import SMALL_DECODER
from oracle.tolerances import INT8_MODEL, of_largest
from safetensors.torch import load_file, save_file

from executorch.examples.models.llama.convert_weights import CheckpointError
from executorch.examples.models.llama.export_llama_lib import build_model, export_llama, lower_llama
from executorch.examples.models.llama.lora import read_adapter
from executorch.extension.llm.export.config.llm_config import LlmConfigError, LoraConfig
from executorch.extension.llm.export.export_llm import read_config
from executorch.runtime import Runtime

pytestmark = pytest.mark.sampled(by="file")

SIZES = {**SMALL_DECODER, "max_position_embeddings": 64}
RANK, ALPHA = 4, 6
TARGETS = ["q_proj", "v_proj", "down_proj"]
OPTIONS = [
    "export.max_seq_length=16",
    "export.max_context_length=48",
    "model.use_kv_cache=True",
    "model.use_sdpa_with_kv_cache=True",
    "backend.xnnpack.enabled=True",
]
METHODS = [
    "multimethod.share_mutable_buffers=True",
    "multimethod.methods=[{method_name: prefill}, {method_name: decode, export_seq_len: 1},"
    " {method_name: lora_forward, lora_config: {adapter_checkpoint: ADAPTER}}]",
]
ADAPTED = "base.lora_config.adapter_checkpoint=ADAPTER"
QUANTIZED = ["quantization.qmode=8da4w", "quantization.group_size=32"]
PROMPT = torch.tensor([[5, 9, 22, 7, 250, 9, 31]])


def peft_matrices(model):
    """Random A and B under PEFT's names."""
    found = {}
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in TARGETS:
            outputs, inputs = module.weight.shape
            found[f"base_model.model.{name}.lora_A.weight"] = torch.randn(RANK, inputs) * 0.3
            found[f"base_model.model.{name}.lora_B.weight"] = torch.randn(outputs, RANK) * 0.3
    return found


def merged(model, matrices):
    """The model with the adapter's products added to its weights."""
    model = copy.deepcopy(model)
    for name, a in matrices.items():
        if ".lora_A." in name:
            layer = model.get_submodule(name.removeprefix("base_model.model.").removesuffix(".lora_A.weight"))
            layer.weight.data += ALPHA / RANK * matrices[name.replace("lora_A", "lora_B")] @ a
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkpoint, and an adapter in PEFT's form below it."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("lora")
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, mean=float(weight.dim() == 1), std=0.15)
    model.save_pretrained(folder)
    (folder / "adapter").mkdir()
    save_file(peft_matrices(model), folder / "adapter" / "adapter_model.safetensors")
    write_sizes(folder)
    return folder


def write_sizes(folder, **changes):
    sizes = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": TARGETS, **changes}
    (folder / "adapter" / "adapter_config.json").write_text(json.dumps(sizes))


def references(folder):
    """transformers' model, and the one with the merged adapter."""
    model = transformers.LlamaForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        return model, merged(model, matrices_of(folder))


def matrices_of(folder):
    return load_file(folder / "adapter" / "adapter_model.safetensors")


def config_of(folder, *options):
    given = [option.replace("ADAPTER", str(folder / "adapter")) for option in options]
    return read_config([f"base.checkpoint={folder}", f"export.output_dir={folder}", *OPTIONS, *given])


def export(folder, name, *options):
    return export_llama(config_of(folder, f"export.output_name={name}", *options))


def greedy(first, following, count=12):
    """Tokens of a method for the prompt and one for the tokens after it."""
    tokens = PROMPT[0].tolist()
    logits = first.execute((PROMPT, torch.tensor([0])))[0]
    for _ in range(count):
        tokens.append(int(logits[-1].argmax()))
        position = torch.tensor([len(tokens) - 1])
        logits = following.execute((torch.tensor([[tokens[-1]]]), position))[0]
    return tokens


def eager_greedy(model, count=12):
    return model.generate(PROMPT, max_new_tokens=count, do_sample=False, eos_token_id=None, pad_token_id=0)[0].tolist()


def execute(program):
    return Runtime.get().load_program(program.buffer).load_method("forward").execute((PROMPT, torch.tensor([0])))[0]


def test_methods_share_weights_and_cache_and_match_the_tokens_of_eager(folder):
    path = export(folder, "methods.pte", *METHODS)
    alone = export(folder, "alone.pte")
    program = Runtime.get().load_program(path, share_memory_arenas=True)
    base, adapted = references(folder)
    assert greedy(program.load_method("prefill"), program.load_method("decode")) == eager_greedy(base)
    method = program.load_method("lora_forward")
    found = greedy(method, method)
    assert found == eager_greedy(adapted)
    assert found != eager_greedy(base)
    added = Path(path).stat().st_size - Path(alone).stat().st_size
    matrices = sum(matrix.nbytes for matrix in matrices_of(folder).values())
    weights = sum(weight.nbytes for weight in base.state_dict().values())
    assert added < matrices + 0.2 * weights  # two more graphs, no second copy of the weights


def test_adapters_stay_in_float_beside_a_quantized_base(folder):
    config = config_of(folder, *QUANTIZED, ADAPTED)
    model = build_model(config)
    found = execute(lower_llama(model, config))
    expected = model(PROMPT, {"input_pos": torch.tensor([0])})  # the rewritten model
    torch.testing.assert_close(found, expected, **of_largest(expected, INT8_MODEL))
    with torch.no_grad():
        adapted = references(folder)[1](PROMPT).logits[:, -1]
    assert float((found - adapted).abs().max()) < 0.5 * float(adapted.abs().max())


def test_programs_with_and_without_an_adapter_use_one_file_of_weights(folder):
    files = ["export.foundation_weights_file=foundation.ptd", ADAPTED]
    export(folder, "base.pte", files[0])
    foundation = (folder / "foundation.ptd").read_bytes()
    export(folder, "adapted.pte", *files)
    assert (folder / "foundation.ptd").read_bytes() == foundation
    assert max((folder / name).stat().st_size for name in ("base.pte", "adapted.pte")) < len(foundation) / 4
    for name, expected in zip(("base.pte", "adapted.pte"), references(folder), strict=True):
        program = Runtime.get().load_program(folder / name, data_path=folder / "foundation.ptd")
        method = program.load_method("forward")
        assert greedy(method, method) == eager_greedy(expected)


def test_an_adapters_weights_may_have_a_file_of_their_own(folder):
    config = config_of(folder, ADAPTED, "export.lora_weights_file=lora.ptd")
    program = lower_llama(build_model(config), config)
    assert len(program.data_files["lora"]) < 2 * sum(matrix.nbytes for matrix in matrices_of(folder).values())
    (folder / "lora.ptd").write_bytes(program.data_files["lora"])
    method = Runtime.get().load_program(program.buffer, data_path=folder / "lora.ptd").load_method("forward")
    assert greedy(method, method) == eager_greedy(references(folder)[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([ADAPTED, *METHODS], "exclude each other"),
        ([METHODS[1]], "prefill and decode use one cache"),
        (["multimethod.methods=[{method_name: a, export_seq_len: 99}]"], "expected at most export.max_seq_length"),
        (["base.lora_config.lora_rank=4"], "expected the path of an adapter"),
    ],
)
def test_options_of_methods_that_do_not_fit_are_named(folder, options, message):
    with pytest.raises(LlmConfigError, match=message):
        export(folder, "never.pte", *options)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"r": 5}, CheckpointError, "expected A and B of rank 5"),
        ({"use_dora": True}, LlmConfigError, "use_dora"),
        ({"r": None}, LlmConfigError, "expected numbers r and lora_alpha"),
        ({"target_modules": [*TARGETS, "k_proj"]}, CheckpointError, "lacks matrices .*attention.wk"),
        ({"target_modules": ["q_proj"]}, CheckpointError, "outside target_modules: .*attention.wv"),
    ],
)
def test_adapters_that_do_not_fit_are_refused(folder, changes, error, message):
    write_sizes(folder, **changes)
    try:
        with pytest.raises(error, match=message):
            build_model(config_of(folder, ADAPTED))
    finally:
        write_sizes(folder)


def test_sizes_may_be_given_in_the_configuration(folder):
    given = LoraConfig(
        str(folder / "adapter" / "adapter_model.safetensors"),
        lora_rank=RANK,
        lora_alpha=ALPHA,
        target_modules=TARGETS,
    )
    adapter = read_adapter(given)
    assert (adapter.scale, set(adapter.matrices)) == (
        ALPHA / RANK,
        {f"layers.{i}.{name}" for i in range(2) for name in ("attention.wq", "attention.wv", "feed_forward.w2")},
    )
