# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Generate text with exported language models. Other Python threads run meanwhile; torch is not needed.

runner = TextLLMRunner("model.pte", "tokenizer.json")
runner.generate("Once upon a time", GenerationConfig(max_new_tokens=32, temperature=0), print)
for text in runner.stream("Once upon a time", GenerationConfig(max_new_tokens=32)): …
print(runner.stats.tokens_per_second)
"""

from executorch.extension.llm.runner.multimodal.multimodal_runner import (
    Audio,
    Image,
    MultimodalInput,
    MultimodalRunner,
    RawAudio,
    make_audio_input,
    make_image_input,
    make_raw_audio_input,
    make_text_input,
    make_token_input,
)
from executorch.extension.llm.runner.text.text_llm_runner import GenerationConfig, Stats, TextLLMRunner, Tokenizer

__all__ = [
    "Audio",
    "GenerationConfig",
    "Image",
    "MultimodalInput",
    "MultimodalRunner",
    "RawAudio",
    "Stats",
    "TextLLMRunner",
    "Tokenizer",
    "make_audio_input",
    "make_image_input",
    "make_raw_audio_input",
    "make_text_input",
    "make_token_input",
]
