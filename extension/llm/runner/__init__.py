# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Generate text with exported language models. Other Python threads run meanwhile; torch is not needed.

runner = TextLLMRunner("model.pte", "tokenizer.json")
runner.generate("Once upon a time", GenerationConfig(max_new_tokens=32, temperature=0), print)
for text in runner.stream("Once upon a time", GenerationConfig(max_new_tokens=32)): …
"""

from executorch.extension.llm.runner.text_llm_runner import GenerationConfig, Stats, TextLLMRunner, Tokenizer

__all__ = ["GenerationConfig", "Stats", "TextLLMRunner", "Tokenizer"]
