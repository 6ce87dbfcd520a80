# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Greedy tokens of decoders with windows, convolutions, experts and long contexts, against transformers in eager."""

import json

import pytest
import torch
import transformers
from oracle.tolerances import MODEL

from executorch.examples.models import phi_4_mini
from executorch.examples.models.llama import presets
from executorch.examples.models.llama.convert_weights import CheckpointError, from_hugging_face
from executorch.examples.models.llama.convert_weights import main as convert
from executorch.examples.models.llama.export_llama_lib import build_model, lower_llama, model_args
from executorch.examples.models.llama.model_args import ModelArgs, ModelArgsError
from executorch.examples.models.llama.rope import rotation_tables
from executorch.extension.llm.export.config.choices import ModelType
from executorch.extension.llm.export.config.llm_config import LlmConfigError
from executorch.extension.llm.export.export_llm import read_config
from executorch.runtime import Runtime

WINDOW, CHUNK, STEPS = 16, 8, 256
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 128,
    "max_position_embeddings": 512,
}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "partial_rotary_factor": 0.5,
    "short_factor": [1.0, 1.5],
    "long_factor": [2.0, 6.0],
    "original_max_position_embeddings": 320,
}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 128}
PHI = {**SIZES, "pad_token_id": 0, "rope_parameters": LONGROPE, "original_max_position_embeddings": 320}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
KINDS = {
    "llama": lambda: transformers.LlamaConfig(**SIZES),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=16),
    "smollm3": lambda: transformers.SmolLM3Config(
        **SIZES, no_rope_layer_interval=2, use_sliding_window=True, sliding_window=WINDOW, **TOKENS),
    "smollm3_full": lambda: transformers.SmolLM3Config(**SIZES, no_rope_layers=[0, 1], **TOKENS),
    "qwen3_yarn": lambda: transformers.Qwen3Config(**SIZES, head_dim=32, rope_parameters=YARN),
    "phi3": lambda: transformers.Phi3Config(**{**PHI, "max_position_embeddings": 4096}, tie_word_embeddings=True),
    "gemma3_text": lambda: transformers.Gemma3TextConfig(
        **SIZES, head_dim=16, query_pre_attn_scalar=24, sliding_window=WINDOW, sliding_window_pattern=2,
        final_logit_softcapping=5.0, tie_word_embeddings=False),
    "lfm2": lambda: transformers.Lfm2Config(**SIZES, layer_types=["conv", "full_attention"], block_multiple_of=16),
    "qwen3_moe": lambda: transformers.Qwen3MoeConfig(
        **SIZES, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24, mlp_only_layers=[1]),
    "mixtral": lambda: transformers.MixtralConfig(**SIZES, num_local_experts=3, sliding_window=WINDOW),
}  # fmt: skip
CACHED = ["model.use_kv_cache=True", f"export.max_seq_length={CHUNK}", "export.max_context_length=272"]
CUSTOM = [*CACHED, "model.use_sdpa_with_kv_cache=True", "backend.xnnpack.enabled=True"]


@pytest.fixture(scope="module", params=sorted(KINDS))
def checkpoint(request, tmp_path_factory):
    """A folder with random weights that keep greedy tokens from repeating, and transformers' model of it."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(KINDS[request.param]()).eval().requires_grad_(False)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, mean=float(weight.dim() == 1 and request.param != "gemma3_text"), std=0.2)
    folder = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder)
    return folder, model


def greedy(logits_of, prompt):
    """Tokens after the prompt. logits_of: logits of the next token, from all tokens so far."""
    tokens = list(prompt)
    for _ in range(STEPS):
        tokens.append(int(logits_of(tokens).argmax()))
    return tokens[len(prompt) :]


def cached(execute):
    """Logits of the next token from a decoder with a cache, which reads the prompt in chunks."""
    read = 0

    def logits_of(tokens):
        nonlocal read
        while read < len(tokens):
            chunk = tokens[read : read + CHUNK]
            output = execute((torch.tensor([chunk]), torch.tensor([read])))[0]
            read += len(chunk)
        return output

    return logits_of


@pytest.mark.sampled
def test_greedy_tokens_are_those_of_transformers_beyond_the_window(checkpoint):
    folder, reference = checkpoint
    config = read_config([f"base.checkpoint={folder}", *CUSTOM])
    program = lower_llama(build_model(config), config)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    prompt = torch.randint(0, 128, (CHUNK + 4,)).tolist()
    expected = greedy(lambda tokens: reference(torch.tensor([tokens]), use_cache=False).logits[0, -1], prompt)
    assert len(set(expected)) > 4
    assert greedy(cached(method.execute), prompt) == expected
    # Position 0 starts anew, whatever caches and convolutions hold.
    assert greedy(cached(method.execute), prompt) == expected


@pytest.mark.sampled
def test_every_cache_gives_the_logits_of_transformers(checkpoint):
    folder, reference = checkpoint
    tokens = torch.randint(0, 128, (1, 40))
    expected = reference(tokens, use_cache=False).logits[0, -1]
    plain = read_config([f"base.checkpoint={folder}", "export.max_seq_length=40", "export.max_context_length=40"])
    with torch.no_grad():
        torch.testing.assert_close(build_model(plain)(tokens)[0], expected, **MODEL)
        model = build_model(read_config([f"base.checkpoint={folder}", *CACHED]))
        logits_of = cached(lambda inputs: [model(inputs[0], {"input_pos": inputs[1]})])
        torch.testing.assert_close(logits_of(tokens[0].tolist())[0], expected, **MODEL)


@pytest.mark.parametrize("checkpoint", ["phi3"], indirect=True)
def test_long_contexts_have_the_long_factors(checkpoint):
    folder, reference = checkpoint
    tokens = torch.randint(0, 128, (1, 330))
    config = read_config([f"base.checkpoint={folder}", "export.max_seq_length=330", "export.max_context_length=330"])
    with torch.no_grad():
        found, expected = build_model(config)(tokens)[0], reference(tokens, use_cache=False).logits[0, -1]
    torch.testing.assert_close(found, expected, **MODEL)


@pytest.mark.parametrize(
    "changes",
    [
        {"factor": 1.0},
        {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.7},
        {"attention_factor": 1.3, "truncate": False},
        {"beta_fast": 4.0, "beta_slow": 4.0},
        {"beta_fast": 1e-9, "beta_slow": 1e-9},
        {"original_max_position_embeddings": 1},
        {"rope_type": "dynamic"},
    ],
)
def test_scaled_rotations_are_those_of_transformers(changes, tmp_path):
    parameters = {**YARN, **changes}
    config = transformers.LlamaConfig(**SIZES, head_dim=64, rope_parameters=parameters)
    config.save_pretrained(tmp_path)
    args = ModelArgs.from_hugging_face(tmp_path / "config.json", max_seq_len=512)
    rotary = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(config)
    expected = rotary(torch.zeros(1), torch.arange(512)[None])
    for found, both_halves in zip(rotation_tables(args), expected, strict=True):
        torch.testing.assert_close(found, both_halves[0, :, :32], **MODEL)


def test_published_sizes_need_no_file():
    for kind in ModelType:
        if presets.params_of(kind) is not None:
            config = read_config([f"base.model_class={kind.value}", "export.max_context_length=8192"])
            assert model_args(config).n_layers > 10
    args = model_args(read_config(["base.model_class=phi_4_mini", *CACHED]))
    assert (args.channels, args.rotated_channels, args.tie_word_embeddings) == (128, 96, True)


def test_converted_checkpoints_load_without_a_config(checkpoint, tmp_path):
    folder, _ = checkpoint
    assert convert([str(folder), str(tmp_path / "converted.pth")]) == 0
    options = [f"base.params={folder / 'config.json'}", f"base.checkpoint={tmp_path / 'converted.pth'}"]
    model, expected = (build_model(read_config(arguments)) for arguments in (options, [f"base.checkpoint={folder}"]))
    for name, weight in expected.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name])
    assert convert([str(tmp_path / "nowhere"), str(tmp_path / "x.pth")]) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer_types": ["full_attention", "linear_attention"]}, "layer_types: expected 2 of full_attention"),
        ({"sliding_window": 0}, "sliding_window: expected a positive number, found 0"),
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping: expected none, found 50.0"),
        ({"hidden_activation": "relu"}, "hidden_act: expected silu or gelu_pytorch_tanh, found 'relu'"),
        ({"model_type": "mixtral", "num_experts_per_tok": 9}, "num_activated_experts: expected 1 to 8, found 9"),
        ({"model_type": "smollm3", "no_rope_layers": [1]}, "rotated_layers: expected 2 values"),
        ({"model_type": "phi3", "rope_parameters": {"rope_type": "ntk"}}, "rope_type: expected one of default"),
        ({"model_type": "phi3", "rope_parameters": {"rope_type": "yarn"}}, "parameters of rope_type yarn"),
        (
            {"model_type": "llama", "rope_parameters": {**YARN, "factor": -2.0}},
            "yarn_factor: expected a positive number",
        ),
        (
            {"model_type": "llama", "max_position_embeddings": 64, "rope_parameters": {"rope_type": "dynamic"}},
            r"expected at most max_position_embeddings \(64\)",
        ),
        ({"model_type": "phi3", "rope_parameters": {"rope_type": "longrope"}}, "parameters of rope_type longrope"),
        (
            {"model_type": "phi3", "rope_parameters": {**LONGROPE, "short_factor": [1.0]}},
            "rope_scaling_short_factor, rope_scaling_long_factor: expected 2 numbers, found 1",
        ),
    ],
)
def test_configurations_that_do_not_fit_are_refused(tmp_path, changes, message):
    sizes = {name: value for name, value in SIZES.items() if name != "num_key_value_heads"}
    given = {**sizes, "model_type": "gemma3_text", "layer_types": ["sliding_attention"] * 2, "sliding_window": 8}
    if changes.get("model_type") == "phi3":
        given["partial_rotary_factor"] = 0.5
    (tmp_path / "config.json").write_text(json.dumps(given | changes))
    with pytest.raises(ModelArgsError, match=message):
        ModelArgs.from_hugging_face(tmp_path / "config.json")


@pytest.mark.parametrize("checkpoint", ["mixtral"], indirect=True)
def test_windows_limit_chunks_and_exclude_quantized_caches(checkpoint):
    folder, _ = checkpoint
    longer = [f"base.checkpoint={folder}", "model.use_kv_cache=True", "export.max_context_length=80"]
    config = read_config([*longer, "export.max_seq_length=20"])
    with pytest.raises(LlmConfigError, match="expected at most the window of 16 positions, found 20"):
        lower_llama(build_model(config), config)
    config = read_config([*longer, "export.max_seq_length=8", "model.quantize_kv_cache=True"])
    with pytest.raises(LlmConfigError, match="layers have a window of 16 positions"):
        lower_llama(build_model(config), config)


def test_the_conversion_of_phi_names_its_first_parameter_as_documented(tmp_path):
    weights = {"model.embed_tokens.weight": torch.ones(3, 2), "model.norm.weight": torch.ones(2)}
    torch.save(weights, tmp_path / "pytorch_model.bin")
    phi_4_mini.convert_weights(input_dir_or_checkpoint=tmp_path, output_file=tmp_path / "converted.pth")
    assert set(torch.load(tmp_path / "converted.pth")) == {"tok_embeddings.weight", "norm.weight", "output.weight"}


def test_incomplete_experts_and_fused_projections_are_named():
    layer = "model.layers.0"
    names = [f"{layer}.mlp.experts.{i}.{kind}_proj.weight" for i in (0, 1) for kind in ("up", "gate")]
    with pytest.raises(CheckpointError, match="missing weights of experts: w2 of 0, w2 of 1"):
        from_hugging_face(dict.fromkeys(names, torch.ones(4, 4)))
    with pytest.raises(CheckpointError, match=r"qkv_proj\.weight: 12 rows cannot be divided into q, k, v"):
        from_hugging_face({f"{layer}.self_attn.qkv_proj.weight": torch.ones(12, 4)})
