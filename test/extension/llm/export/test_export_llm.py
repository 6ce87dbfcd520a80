# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Language models from a Hugging Face folder to tokens, against transformers' own definitions."""

import copy
import json

import pytest
import torch
import transformers
from oracle.models.decoder_sizes import SMALL_DECODER
from oracle.tolerances import INT4_LOGITS, INT8_MODEL, INT8_WEIGHTS, LAYER, MODEL, of_largest

from executorch.devtools.etrecord import parse_etrecord
from executorch.examples.models.llama.convert_weights import CheckpointError, from_hugging_face, load_weights
from executorch.examples.models.llama.export_llama import build_args_parser
from executorch.examples.models.llama.export_llama import main as export_older
from executorch.examples.models.llama.export_llama_lib import build_model, export_llama, lower_llama
from executorch.examples.models.llama.llama_transformer import Transformer
from executorch.examples.models.llama.model_args import ModelArgs, ModelArgsError
from executorch.extension.llm.export.config.llm_config import LlmConfig, LlmConfigError
from executorch.extension.llm.export.export_llm import main, read_config
from executorch.extension.llm.export.load import CheckpointFileError
from executorch.extension.llm.export.quantize import QuantizedEmbedding
from executorch.runtime import Runtime

pytestmark = pytest.mark.sampled(by="file")

SIZES = {**SMALL_DECODER, "max_position_embeddings": 256}
SCALED = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
KINDS = {
    "llama": lambda: transformers.LlamaConfig(**SIZES, rope_parameters=SCALED),
    "qwen2": lambda: transformers.Qwen2Config(**SIZES, tie_word_embeddings=True),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=32),
}
SIZE_OPTIONS = ["export.max_seq_length=32", "export.max_context_length=64"]
CACHED = ["model.use_kv_cache=True"]
CUSTOM = [*CACHED, "model.use_sdpa_with_kv_cache=True"]


@pytest.fixture(scope="module", params=sorted(KINDS))
def checkpoint(request, tmp_path_factory):
    """A folder with random weights, and transformers' model of it."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(KINDS[request.param]()).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, mean=float(weight.dim() == 1), std=0.15)
    folder = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder)
    return folder, model


def load(program, name="forward"):
    return Runtime.get().load_program(program.buffer).load_method(name)


def run_cached(run, tokens):
    """Logits after a prompt of 12 tokens and after each further one."""
    output = [run(tokens[:, :12], torch.tensor([0]))]
    for i in range(12, tokens.shape[1]):
        output.append(run(tokens[:, i : i + 1], torch.tensor([i])))
    return torch.cat(output)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "options", [[], CACHED, [*CUSTOM, "backend.xnnpack.enabled=True"]], ids=["plain", "cached", "xnnpack"]
)
def test_exported_decoders_give_the_logits_of_transformers(checkpoint, options):
    folder, reference = checkpoint
    config = read_config([f"base.checkpoint={folder}", *SIZE_OPTIONS, *options])
    method = load(lower_llama(build_model(config), config))
    tokens = torch.randint(0, 256, (1, 20))
    with torch.no_grad():
        expected = reference(tokens).logits[0]
    if not options:
        torch.testing.assert_close(method.execute((tokens,))[0][0], expected[-1], **MODEL)
        return
    found = run_cached(lambda *inputs: method.execute(inputs)[0], tokens)
    torch.testing.assert_close(found, expected[11:], **MODEL)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "options",
    [
        ["model.quantize_kv_cache=True"],
        ["model.local_global_attention=[16,0]"],
        ["model.use_attention_sink='4,16,1'", "model.use_sdpa_with_kv_cache=True"],
        ["model.use_attention_sink='0,16'"],
        ["model.kv_cache_dtype=bf16", "model.use_sdpa_with_kv_cache=True"],
        ["model.kv_cache_dtype=fp16", "model.use_sdpa_with_kv_cache=True", "model.local_global_attention=[16,0]"],
    ],
    ids=["int8", "local and global", "sink", "window without sink", "bfloat16", "float16, local and global"],
)
def test_caches_of_the_options_give_nearly_the_logits_of_transformers(options):
    config = read_config([*CACHED, "export.max_seq_length=16", "export.max_context_length=64", *options])
    torch.manual_seed(0)
    reference = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).eval()
    model = Transformer(ModelArgs(dim=64, hidden_dim=96, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=256,
                                  use_hf_rope=True, norm_eps=1e-6, use_kv_cache=True, enable_dynamic_shape=True,
                                  max_seq_len=16, max_context_len=64)).eval()  # fmt: skip
    load_weights(model, from_hugging_face(reference.state_dict()))
    method = load(lower_llama(model, config))
    tokens = torch.randint(0, 256, (1, 16))
    with torch.no_grad():
        expected = reference(tokens).logits[0, 11:]
    found = run_cached(lambda *inputs: method.execute(inputs)[0], tokens)
    torch.testing.assert_close(found, expected, **of_largest(expected, INT8_WEIGHTS))


def test_attention_reads_the_caches_where_they_are():
    config = read_config([*CUSTOM, "backend.xnnpack.enabled=True"])
    sizes = {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2, "vocab_size": 30}
    model = Transformer(ModelArgs(**sizes, use_kv_cache=True, enable_dynamic_shape=True, max_seq_len=16)).eval()
    nodes = lower_llama(model, config).exported_program().graph.nodes
    attention = [node for node in nodes if "custom_sdpa" in str(node.target)]
    assert [node.args[i].op for node in attention for i in (1, 2)] == ["placeholder"] * 4


@pytest.mark.sampled
@pytest.mark.parametrize("qmode", ["8da4w", "int8"])
def test_quantized_decoders_are_near_the_quantized_model_in_eager(checkpoint, qmode):
    folder, reference = checkpoint
    quantization = [
        f"quantization.qmode={qmode}",
        "quantization.group_size=32",
        "quantization.embedding_quantize='8,0'",
    ]
    arguments = [f"base.checkpoint={folder}", *SIZE_OPTIONS, *CUSTOM, "backend.xnnpack.enabled=True", *quantization]
    config = read_config(arguments)
    model = build_model(config)
    method = load(lower_llama(model, config))
    tokens = torch.randint(0, 256, (1, 20))
    with torch.no_grad():
        expected = run_cached(lambda t, p: copy.deepcopy(model)(t, {"input_pos": p}), tokens[:, :12])
        exact = reference(tokens[:, :12]).logits[0, 11:]
    found = run_cached(lambda *inputs: method.execute(inputs)[0], tokens[:, :12])
    torch.testing.assert_close(found, expected, **of_largest(expected, INT8_MODEL))
    assert float((expected - exact).abs().max()) < float(exact.abs().max())


FOUR_BITS = ["quantization.qmode=8da4w", "quantization.group_size=32"]
ROWS_OF_8_BITS = "quantization.embedding_quantize='8,0'"
SHARED = {
    "float": ([], 4.0),
    "8 bits": (["quantization.qmode=torchao:8da8w", ROWS_OF_8_BITS], 1.0),
    "4 bits": ([*FOUR_BITS, "quantization.embedding_quantize='4,32'"], 0.5),
    "option": ([*FOUR_BITS, ROWS_OF_8_BITS, "model.use_shared_embedding=True"], 1.0),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", SHARED)
def test_a_file_has_the_weights_of_a_tied_output_layer_once(name, tmp_path):
    options, bytes_of_a_weight = SHARED[name]
    torch.manual_seed(0)
    sizes = {"dim": 32, "hidden_dim": 32, "n_layers": 1, "n_heads": 2, "vocab_size": 8192, "use_hf_rope": True}
    (tmp_path / "params.json").write_text(json.dumps({**sizes, "tie_word_embeddings": True}))
    arguments = [f"base.params={tmp_path / 'params.json'}", *SIZE_OPTIONS, *CUSTOM, "backend.xnnpack.enabled=True"]
    config = read_config([*arguments, *options])
    model = build_model(config)
    tokens, start = torch.tensor([[7, 8, 250]]), torch.tensor([0])
    with torch.no_grad():
        expected = copy.deepcopy(model)(tokens, {"input_pos": start})
    program = lower_llama(model, config)
    # Scales need the rest: 8 bytes a row in 8 bits, 6 in 4 bits. The other layers have 8,000 weights.
    assert len(program.buffer) < 1.4 * bytes_of_a_weight * 8192 * 32 + 12 * 8192
    found = load(program).execute((tokens, start))[0]
    error = float((found - expected).abs().max() / expected.abs().max())
    assert error < (LAYER["rtol"] if name == "float" else INT4_LOGITS)


def test_records_of_an_export_are_in_the_folder_of_the_file(tmp_path, caplog):
    (tmp_path / "params.json").write_text('{"dim": 16, "n_layers": 1, "n_heads": 2, "vocab_size": 30}')
    arguments = f"-p {tmp_path / 'params.json'} -kv -X --max_seq_length 4 --max_context_length 8 -o {tmp_path} -n m"
    torch.manual_seed(0)
    with caplog.at_level("INFO"):
        reports = ["--generate_etrecord", "--verbose", "--profile_memory", "-prof", str(tmp_path / "time.html")]
        assert export_older([*arguments.split(), *reports]) == 0
    assert "exported graph of" in caplog.text
    assert "delegation of forward" in caplog.text
    assert parse_etrecord(str(tmp_path / "etrecord.bin")).edge_dialect_program is not None
    assert json.loads((tmp_path / "memory_profile.json").read_text())["traceEvents"]
    assert "lower_llama" in (tmp_path / "time.html").read_text()

    torch.manual_seed(0)  # the weights are random
    assert export_older([*arguments.split(), "--export_only"]) == 0
    exported = torch.export.load(tmp_path / "m.pt2")
    inputs = (torch.tensor([[1, 2, 3]]), {"input_pos": torch.tensor([0])})
    found = (
        Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute((inputs[0], torch.tensor([0])))
    )
    torch.testing.assert_close(found[0], exported.module()(*inputs))


def test_searched_scales_have_less_error():
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(64, 96)
    errors = []
    for use_hqq in (True, False):
        quantized = QuantizedEmbedding(embedding, 4, 32, use_hqq)
        errors.append((quantized(torch.arange(64)) - embedding.weight).pow(2).mean())
    assert errors[0] < 0.95 * errors[1]


def test_a_shared_embedding_needs_a_format(tmp_path):
    options = ["base.model_class=smollm2", *SIZE_OPTIONS, "model.use_shared_embedding=True"]
    (tmp_path / "params.json").write_text('{"dim": 16, "n_layers": 1, "n_heads": 2, "vocab_size": 30}')
    for further in ([], ["quantization.qmode=8da4w"], ["quantization.embedding_quantize='8,0'"]):
        config = read_config([*options, *further, f"base.params={tmp_path / 'params.json'}"])
        with pytest.raises(LlmConfigError, match="use_shared_embedding: expected a model that ties"):
            lower_llama(build_model(config), config)


def test_the_command_writes_a_file_with_the_methods_that_runners_read(checkpoint, tmp_path):
    folder, _ = checkpoint
    yaml = tmp_path / "config.yaml"
    yaml.write_text(f"base:\n  checkpoint: {folder}\nmodel:\n  use_kv_cache: true\n")
    metadata = 'base.metadata=\'{"get_bos_id": 1, "get_eos_ids": [2, 3]}\''
    arguments = [
        "--config",
        str(yaml),
        *SIZE_OPTIONS,
        metadata,
        f"export.output_dir={tmp_path}",
        "export.output_name=m",
    ]
    assert main(arguments) == 0
    program = Runtime.get().load_program(tmp_path / "m.pte")
    constants = {name: program.load_method(name).execute(()) for name in program.method_names - {"forward"}}
    assert constants["get_eos_ids"] == [2, 3]
    assert {name: values[0] for name, values in constants.items() if len(values) == 1} == {
        "get_max_seq_len": 32, "get_max_context_len": 64, "get_n_layers": 2, "get_vocab_size": 256, "get_bos_id": 1,
        "use_kv_cache": True, "use_sdpa_with_kv_cache": False, "enable_dynamic_shape": True,
    }  # fmt: skip


def test_the_older_command_means_the_same_configuration(tmp_path):
    options = "-c here -kv --use_sdpa_with_kv_cache -X -qmode 8da4w -G 32 -E 8,0 -d fp32 --max_seq_length 64"
    options += (
        " --max_context_length 256 -n m --disable_dynamic_shape --local_global_attention 0,16 --use_shared_embedding"
    )
    older = LlmConfig.from_args(build_args_parser().parse_args(options.split()))
    keys = "base.checkpoint=here model.use_kv_cache=True model.use_sdpa_with_kv_cache=True backend.xnnpack.enabled=True"
    keys += " quantization.qmode=8da4w quantization.group_size=32 quantization.embedding_quantize='8,0'"
    keys += " export.max_seq_length=64 export.max_context_length=256 export.output_name=m"
    keys += " model.enable_dynamic_shape=False model.local_global_attention=[0,16] model.use_shared_embedding=True"
    assert older == read_config(keys.split())
    assert export_older(["-c", str(tmp_path / "nowhere")]) == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (["model.use_sdpa_with_kv_cache=True"], LlmConfigError, "needs model.use_kv_cache"),
        (["quantization.qmode=5w"], LlmConfigError, "expected one of"),
        (["base.model_class=gpt2"], LlmConfigError, "gpt2"),
        (["export.max_seq_length=200"], LlmConfigError, "expected at least max_seq_length"),
        (["no.such=1"], LlmConfigError, "no"),
        (["backend.qnn.enabled=True"], LlmConfigError, "does not support"),
        (["quantization.quantize_scope=linear"], LlmConfigError, "quantization.quantize_scope: this project does not"),
        (["model.use_attention_sink='4,16'"], LlmConfigError, "use_attention_sink needs model.use_kv_cache"),
        ([*CACHED, "model.use_attention_sink='4'"], LlmConfigError, "expected 'sink size,window size"),
        ([*CACHED, "model.use_attention_sink='4,00'"], LlmConfigError, "expected 'sink size,window size"),
        ([*CACHED, "model.local_global_attention=[0]"], LlmConfigError, "expected window sizes"),
        ([*CACHED, "model.kv_cache_dtype=fp16"], LlmConfigError, "needs model.use_sdpa_with_kv_cache"),
        (
            [*CUSTOM, "model.kv_cache_dtype=fp16", "model.quantize_kv_cache=True"],
            LlmConfigError,
            "exclude each other",
        ),
        (
            [*CUSTOM, "model.kv_cache_dtype=fp16", "model.dtype_override=bf16"],
            LlmConfigError,
            "expected bf16, as model.dtype_override, found fp16",
        ),
        (
            [*CACHED, "model.local_global_attention=[8,0]", "base.checkpoint=FOLDER"],
            LlmConfigError,
            "expected at most the window of 8 positions, found 128",
        ),
        (
            [*CACHED, "model.local_global_attention=[64]", "model.quantize_kv_cache=True"],
            LlmConfigError,
            "exclude each other",
        ),
        (
            ["quantization.qmode=4w", "quantization.group_size=48", "base.checkpoint=FOLDER"],
            LlmConfigError,
            "48 does not divide the 64 inputs",
        ),
        (
            ["quantization.qmode=8da4w", "quantization.group_size=80", "base.checkpoint=FOLDER"],
            LlmConfigError,
            "80 does not divide the 64 inputs",
        ),
        ([], LlmConfigError, "expected the path of a model"),
        (["base.checkpoint=/nowhere"], LlmConfigError, "base.params"),
    ],
)
def test_options_that_do_not_fit_are_named(checkpoint, tmp_path, options, error, message):
    given = [option.replace("FOLDER", str(checkpoint[0])) for option in options]
    with pytest.raises(error, match=message):
        export_llama(read_config([*given, f"export.output_dir={tmp_path}"]))


def test_broken_checkpoints_are_refused(checkpoint, tmp_path):
    folder, model = checkpoint
    weights = model.state_dict()
    params = f"base.params={folder / 'config.json'}"
    cases = {
        "missing weights: norm.weight": {k: v for k, v in weights.items() if k != "model.norm.weight"},
        "no decoder of this kind has: model.layers.0.extra": {**weights, "model.layers.0.extra": torch.ones(1)},
        r"norm.weight: expected \[64\], found \[3\]": {**weights, "model.norm.weight": torch.ones(3)},
    }
    for message, broken in cases.items():
        torch.save(broken, tmp_path / "broken.pth")
        with pytest.raises(CheckpointError, match=message):
            build_model(read_config([params, f"base.checkpoint={tmp_path / 'broken.pth'}", *SIZE_OPTIONS]))
    torch.save(weights, tmp_path / "names.pth")
    undecodable = (tmp_path / "names.pth").read_bytes().replace(b"model.norm.weight", b"model.norm.\xff" + b"eight")
    garbage = b"\x08\x00\x00\x00 no checkpoint"
    for name, content in {"garbage.pth": garbage, "garbage.safetensors": garbage, "names.pth": undecodable}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CheckpointFileError, match=name):
            build_model(read_config([params, f"base.checkpoint={tmp_path / name}", *SIZE_OPTIONS]))


def test_configurations_that_describe_no_decoder_are_refused(tmp_path):
    file = tmp_path / "config.json"
    for text, message in (
        ('{"model_type": "bert"}', "model_type"),
        ("[]", "JSON object"),
        ("{", "expected JSON"),
        ('{"model_type": "llama"}', "expected hidden_size"),
    ):
        file.write_text(text)
        with pytest.raises(ModelArgsError, match=message):
            ModelArgs.from_hugging_face(file)
    with pytest.raises(ModelArgsError, match="multiple of n_kv_heads"):
        ModelArgs(n_heads=6, n_kv_heads=4)
    with pytest.raises(ModelArgsError, match=r"max_context_len: expected at least max_seq_len \(32\), found 16"):
        ModelArgs(max_seq_len=32, max_context_len=16)


@pytest.mark.parametrize(
    "given, prompt, context",
    [
        ({}, 2048, 2048),
        ({"max_seq_len": 32}, 32, 32),
        ({"max_context_len": 16}, 16, 16),
        ({"max_context_len": 4096}, 2048, 4096),
    ],
)
def test_a_prompt_fits_the_context_where_only_one_is_given(given, prompt, context):
    args = ModelArgs(**given)
    assert (args.max_seq_len, args.context) == (prompt, context)
