# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""transformers' export of an encoder and a decoder with a static cache, run against eager."""

import pytest
import torch
import transformers
from oracle.tolerances import LAYERS, scaled
from transformers.integrations.executorch import Seq2SeqLMExportableModule

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def _model():
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=256,
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,  # the export omits the scale of tied output layers
    )
    return transformers.T5ForConditionalGeneration(config).eval().requires_grad_(False)


def test_t5_matches_the_logits_of_eager_for_texts_of_several_lengths():
    model = _model()
    exportable = Seq2SeqLMExportableModule(
        model, batch_size=1, max_hidden_seq_length=64, cache_implementation="static", max_cache_length=16
    )
    exportable.export()
    parts = {"encoder": exportable.exported_encoder, "decoder": exportable.exported_decoder}
    program = Runtime.get().load_program(
        to_edge_transform_and_lower(parts, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
    )
    encoder, decoder = program.load_method("encoder"), program.load_method("decoder")
    for length in (10, 23, 2):
        text, tokens = torch.randint(3, 250, (1, length)), torch.randint(3, 250, (1, 16))
        states = encoder.execute((text,))[0].clone()
        expected = model(input_ids=text, decoder_input_ids=tokens, use_cache=False).logits[0]
        found = [decoder.execute((tokens[:, i : i + 1], states, torch.tensor([i])))[0][0].clone() for i in range(16)]
        torch.testing.assert_close(torch.cat(found), expected, **scaled(LAYERS, float(expected.abs().max())))
