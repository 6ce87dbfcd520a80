# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""GGUF files: values against the package gguf, decoders against transformers, broken files."""

import copy
import random
import struct
import tracemalloc

import gguf
import numpy
import pytest
import torch
import transformers
from oracle.models.decoder_sizes import SMALL_DECODER
from oracle.tolerances import MODEL

from executorch.examples.models.llama.convert_gguf import args_of_gguf
from executorch.examples.models.llama.convert_weights import CheckpointError
from executorch.examples.models.llama.export_llama_lib import build_model
from executorch.examples.models.llama.model_args import ModelArgsError
from executorch.exir import to_edge
from executorch.extension.llm.export.export_llm import main, read_config
from executorch.extension.llm.export.gguf import GGUFError, GGUFType, read_gguf
from executorch.extension.llm.export.gguf_blocks import BLOCKS, dequantize, grouped_integers
from executorch.extension.llm.export.quantize import quantize_embeddings
from executorch.runtime import Runtime

SCALED = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
KINDS = {
    "llama": lambda: transformers.LlamaConfig(**SMALL_DECODER, rope_parameters=SCALED, tie_word_embeddings=True),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL_DECODER),
    "qwen3": lambda: transformers.Qwen3Config(**SMALL_DECODER, head_dim=32),
}
ARCHITECTURES = {
    "llama": gguf.MODEL_ARCH.LLAMA,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
    "qwen3": gguf.MODEL_ARCH.QWEN3,
}
OPTIONS = ["export.max_seq_length=32", "export.max_context_length=64"]


@pytest.mark.parametrize("kind", sorted(BLOCKS))
def test_random_blocks_have_the_values_of_the_package(kind):
    block = BLOCKS[kind]
    raw = numpy.random.default_rng(0).integers(0, 256, size=(300, block.bytes), dtype=numpy.uint8)
    with numpy.errstate(all="ignore"):
        found = dequantize(kind, raw.reshape(-1))
        expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[kind]).astype(numpy.float32)
    assert numpy.array_equal(found.view(numpy.uint32), expected.reshape(-1).view(numpy.uint32))


def pairs(weight, heads):
    """Rows of q and k as llama.cpp has them for Llama."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).transpose(1, 2).reshape(weight.shape)


def write(path, name, model, kind=None, change=lambda name, value: value):
    """Write a model of transformers as llama.cpp's converter does; matrices in a quantization."""
    config = model.config
    writer = gguf.GGUFWriter(path, name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_token_list(["a", "b"])
    head_dim = getattr(config, "head_dim", None)
    if head_dim:
        writer.add_key_length(head_dim)
    names = gguf.get_tensor_name_map(ARCHITECTURES[name], config.num_hidden_layers)
    kept = {}
    for theirs, weight in model.state_dict().items():
        if theirs == "lm_head.weight" and config.tie_word_embeddings:
            continue
        stored = weight
        if name == "llama" and theirs.endswith(("q_proj.weight", "k_proj.weight")):
            heads = config.num_attention_heads if "q_proj" in theirs else config.num_key_value_heads
            stored = pairs(weight, heads)
        data = change(theirs, stored.numpy())
        if data is None:
            continue
        translated = names.get_name(theirs, try_suffixes=(".weight", ".bias"))
        if kind is not None and weight.dim() == 2:
            data = gguf.quants.quantize(data, gguf.GGMLQuantizationType[kind])
            writer.add_tensor(translated, data, raw_dtype=gguf.GGMLQuantizationType[kind])
        else:
            writer.add_tensor(translated, data)
        kept[theirs] = data
    if name == "llama":
        writer.add_tensor("rope_freqs.weight", rope_divisors(config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def rope_divisors(config):
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, device="cpu")
    size = config.hidden_size // config.num_attention_heads
    plain = 1 / config.rope_parameters["rope_theta"] ** (torch.arange(0, size, 2).float() / size)
    return (plain / scaled).numpy()


@pytest.fixture(scope="module", params=sorted(KINDS))
def model(request):
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(KINDS[request.param]()).eval()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, mean=float(weight.dim() == 1), std=0.15)
    return request.param, made


def built(path, *options):
    return build_model(read_config([f"base.checkpoint={path}", "debug.generate_full_logits=True", *OPTIONS, *options]))


@pytest.mark.parametrize("kind", [None, "Q8_0", "Q4_0", "Q5_1", "F16", "BF16"])
def test_decoders_in_gguf_files_give_the_logits_of_transformers(model, kind, tmp_path):
    name, reference = model
    path = tmp_path / "model.gguf"
    write(path, name, reference, kind)
    reference = copy.deepcopy(reference)
    for weight in reference.parameters():
        if kind is not None and weight.dim() == 2:
            stored = gguf.GGMLQuantizationType[kind]
            blocks = gguf.quants.quantize(weight.detach().numpy(), stored)
            weight.data = torch.from_numpy(gguf.quants.dequantize(blocks, stored).copy())
    tokens = torch.randint(0, 256, (1, 20))
    ours = built(path)
    with torch.no_grad():
        found, expected = ours(tokens), reference(tokens).logits
    torch.testing.assert_close(found.view_as(expected), expected, **MODEL)


def package_values(weight, kind):
    """The values that the package reads back of a matrix that it quantized."""
    stored = gguf.GGMLQuantizationType[kind]
    return torch.from_numpy(
        gguf.quants.dequantize(gguf.quants.quantize(weight.detach().numpy(), stored), stored).copy()
    )


def bits_of(values):
    return values.detach().float().contiguous().view(torch.int32)


@pytest.mark.parametrize(("kind", "bits"), [("Q8_0", 8), ("Q4_0", 4)])
def test_an_embedding_of_the_same_groups_keeps_the_integers_of_the_file(kind, bits, tmp_path, caplog):
    torch.manual_seed(0)
    reference = transformers.AutoModelForCausalLM.from_config(KINDS["llama"]()).eval()
    path = tmp_path / "model.gguf"
    write(path, "llama", reference, kind)
    with caplog.at_level("INFO"):
        ours = built(path)
        quantize_embeddings(ours, bits, 32)
    assert f"an embedding keeps the checkpoint's {bits}-bit integers in groups of 32" in caplog.text
    assert f"14 tensors of {kind} become float" in caplog.text
    expected = package_values(reference.model.embed_tokens.weight, kind)
    rows = torch.arange(256)
    assert torch.equal(bits_of(ours.tok_embeddings(rows)), bits_of(expected))
    program = to_edge(torch.export.export(ours.tok_embeddings, (rows,))).to_executorch()
    found = Runtime.get().load_program(program.buffer).load_method("forward").execute((rows,))[0]
    assert torch.equal(bits_of(found), bits_of(expected))


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
def test_integers_times_scales_are_the_values_of_the_package(kind):
    raw = numpy.random.default_rng(1).normal(size=(8, 64)).astype(numpy.float32)
    stored = gguf.quants.quantize(raw, gguf.GGMLQuantizationType[kind])
    integers, scales = grouped_integers(kind, stored.reshape(-1))
    expected = gguf.quants.dequantize(stored, gguf.GGMLQuantizationType[kind])
    assert integers.dtype == numpy.int8
    assert numpy.array_equal((integers * scales).reshape(8, 64), expected)


def test_weights_that_are_missing_or_extra_are_named(model, tmp_path):
    name, reference = model
    path = tmp_path / "model.gguf"
    write(
        path, name, reference, None, lambda tensor_name, value: None if "layers.1.mlp.up_proj" in tensor_name else value
    )
    with pytest.raises(CheckpointError, match=r"missing weights: layers\.1\.feed_forward\.w3\.weight"):
        built(path)
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", name)
    writer.add_tensor("blk.0.attn_sinks.weight", numpy.zeros((2, 2), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelArgsError, match="metadata lacks"):
        built(tmp_path / "other.gguf")


def test_the_command_exports_a_gguf_file_and_refuses_a_broken_one(model, tmp_path):
    name, reference = model
    path = tmp_path / "model.gguf"
    write(path, name, reference)
    arguments = [f"base.checkpoint={path}", *OPTIONS, f"export.output_dir={tmp_path}", "export.output_name=m"]
    assert main(arguments) == 0
    assert (tmp_path / "m.pte").exists()
    path.write_bytes(path.read_bytes()[:300])
    assert main(arguments) == 1


def text(value):
    return struct.pack("<Q", len(value)) + value


def header(tensors=b"", num_tensors=0, pairs=b"", num_pairs=0, version=3):
    return b"GGUF" + struct.pack("<IQQ", version, num_tensors, num_pairs) + pairs + tensors


def tensor(name=b"t", shape=(32,), kind=0, offset=0):
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGML" + bytes(60),
        header(version=1) + bytes(64),
        header(version=0x03000000) + bytes(64),
        header(num_tensors=2**63) + bytes(64),
        header(num_pairs=2**40) + bytes(64),
        header(pairs=struct.pack("<Q", 2**63), num_pairs=1) + bytes(64),
        header(pairs=text(b"k") + struct.pack("<I", 99), num_pairs=1) + bytes(64),
        header(pairs=text(b"k") + struct.pack("<IIQ", 9, 0, 2**62), num_pairs=1) + bytes(64),
        header(pairs=text(b"k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 20, num_pairs=1) + bytes(64),
        header(pairs=(text(b"k") + struct.pack("<IB", 0, 1)) * 2, num_pairs=2) + bytes(64),
        header(pairs=text(b"general.alignment") + struct.pack("<II", 4, 3), num_pairs=1) + bytes(64),
        header(tensor(shape=(1,) * 5), 1) + bytes(200),
        header(tensor(shape=(2**40, 2**40)), 1) + bytes(200),
        header(tensor(shape=(0, 2**63)), 1) + bytes(200),
        header(tensor(kind=4), 1) + bytes(200),
        header(tensor(shape=(16,), kind=2), 1) + bytes(200),
        header(tensor(offset=1), 1) + bytes(400),
        header(tensor(offset=2**63), 1) + bytes(400),
        header(tensor() * 2, 2) + bytes(400),
        header(tensor(b"a", (64,)) + tensor(b"b", (64,)), 2) + bytes(300),
    ],
)
def test_broken_files_are_refused(content, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(GGUFError, match=r"model\.gguf"):
        read_gguf(path)


@pytest.mark.parametrize("kind", gguf.GGMLQuantizationType)
def test_each_type_of_the_package_is_read_or_refused_by_its_name(kind, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(header(tensor(shape=(256,), kind=kind), 1) + bytes(1100))
    if kind.name in BLOCKS:
        assert read_gguf(path).tensors["t"].dequantize().shape == (256,)
    else:
        with pytest.raises(GGUFError, match=rf"tensor 't': expected one of the types .*, found {kind.name}$"):
            read_gguf(path)


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def test_arrays_of_numbers_take_the_bytes_that_they_have(tmp_path):
    path = tmp_path / "model.gguf"
    arrays = [
        pair(f"of type {kind}".encode(), 9, struct.pack("<IQ", kind, 1 << 20) + bytes([129]) * (size << 20))
        for kind, size in ((0, 1), (1, 1), (3, 2), (5, 4), (6, 4), (7, 1), (11, 8))
    ]
    path.write_bytes(header(pairs=b"".join(arrays), num_pairs=len(arrays)) + bytes(64))
    tracemalloc.start()
    metadata = read_gguf(path).metadata
    assert tracemalloc.get_traced_memory()[1] < 2 * path.stat().st_size
    tracemalloc.stop()
    assert [array.dtype for array in metadata.values()] == ["u1", "i1", "i2", "i4", "f4", "?", "i8"]
    assert (metadata["of type 1"] == -127).all() and (metadata["of type 7"] == 1).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"general.architecture": ["llama"]}, "expected one of llama"),
        ({"general.architecture": numpy.ones(3)}, "expected one of llama"),
        ({"llama.rope.scaling.type": numpy.ones(3)}, "expected none"),
        ({"llama.expert_count": numpy.ones(3)}, "mixtures of experts"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "expected a positive number, found nan"),
        ({"llama.rope.freq_base": float("inf")}, "expected a positive number, found inf"),
        ({"llama.attention.head_count": 0}, "expected a positive number, found 0"),
        ({"llama.block_count": 2**60}, "expected tensors of 1152921504606846976 layers"),
    ],
)
def test_metadata_of_other_types_and_values_are_a_typed_error(change, says, tmp_path):
    reference = transformers.AutoModelForCausalLM.from_config(KINDS["llama"]()).eval()
    write(tmp_path / "model.gguf", "llama", reference)
    file = read_gguf(tmp_path / "model.gguf")
    file.metadata.update(change)
    with pytest.raises(ModelArgsError, match=says):
        args_of_gguf(file)


def test_every_layer_has_the_matrices_that_it_takes(tmp_path):
    reference = transformers.AutoModelForCausalLM.from_config(KINDS["llama"]()).eval()
    write(
        tmp_path / "model.gguf",
        "llama",
        reference,
        change=lambda name, value: value[:1] if "layers.1.mlp.gate_proj" in name else value,
    )
    with pytest.raises(ModelArgsError, match=r"blk\.1\.ffn_gate\.weight: expected \[96, 64\]"):
        args_of_gguf(read_gguf(tmp_path / "model.gguf"))


def test_damaged_files_give_typed_errors_alone(model, tmp_path):
    name, reference = model
    path = tmp_path / "model.gguf"
    write(path, name, reference, "Q8_0")
    whole = path.read_bytes()
    rng = random.Random(0)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(min(len(damaged), 3000))] = rng.choice([0, 1, 2, 127, 255, rng.randrange(256)])
        path.write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        try:
            file = read_gguf(path)
        except GGUFError:
            continue
        for stored in file.tensors.values():
            assert stored.dequantize().shape == stored.shape
            assert stored.type in GGUFType
