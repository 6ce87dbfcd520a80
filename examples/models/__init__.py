# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Names of the example models, and the module and class that builds each."""

from __future__ import annotations

import difflib
from enum import Enum


class Model(str, Enum):
    """Names that the export commands accept."""

    Mul = "mul"
    Linear = "linear"
    Add = "add"
    AddMul = "add_mul"
    Softmax = "softmax"
    Conv1d = "conv1d"
    Dl3 = "dl3"
    Edsr = "edsr"
    EmformerTranscribe = "emformer_transcribe"
    EmformerPredict = "emformer_predict"
    EmformerJoin = "emformer_join"
    Llama2 = "llama2"
    Llama = "llama"
    Llama32VisionEncoder = "llama3_2_vision_encoder"
    Lstm = "lstm"
    MobileBert = "mobilebert"
    Mv2 = "mv2"
    Mv2Untrained = "mv2_untrained"
    Mv3 = "mv3"
    Vit = "vit"
    W2l = "w2l"
    Ic3 = "ic3"
    Ic4 = "ic4"
    ResNet18 = "resnet18"
    ResNet50 = "resnet50"
    Llava = "llava"
    EfficientSam = "efficient_sam"
    Qwen25 = "qwen2_5_1_5b"
    Phi4Mini = "phi_4_mini"
    SmolLM2 = "smollm2"
    DeiTTiny = "deit_tiny"
    DeepAutoEncoder = "deep_autoencoder"
    DSCNN = "ds_cnn"
    MobileNetV1025 = "mobilenet_v1_025"
    ResNet8 = "resnet8"
    Sdpa = "sdpa"
    Qwen3 = "qwen3"
    SmolVLM = "smolvlm"
    YOLO26 = "yolo26"
    Whisper = "whisper"

    def __str__(self) -> str:
        return self.value


class Backend(str, Enum):
    """Names of the backends that example models are exported for."""

    Xnnpack = "xnnpack"
    XnnpackQuantizationDelegation = "xnnpack-quantization-delegation"
    CoreMlExportOnly = "coreml"
    CoreMlExportAndTest = "coreml-test"

    def __str__(self) -> str:
        return self.value


class UnknownModelError(RuntimeError):
    """No example model has the name."""


class UnavailableModelError(NotImplementedError):
    """The name is registered, but this distribution does not define the model."""


# Name → (module below executorch.examples.models, class): the arguments of EagerModelFactory.create_model.
MODEL_NAME_TO_MODEL: dict[str, tuple[str, str]] = {
    str(Model.Mul): ("toy_model", "MulModule"),
    str(Model.Linear): ("toy_model", "LinearModule"),
    str(Model.Add): ("toy_model", "AddModule"),
    str(Model.AddMul): ("toy_model", "AddMulModule"),
    str(Model.Softmax): ("toy_model", "SoftmaxModule"),
    str(Model.Conv1d): ("toy_model", "Conv1dModule"),
    str(Model.Sdpa): ("toy_model", "SdpaModule"),
    str(Model.Dl3): ("deeplab_v3", "DeepLabV3ResNet50Model"),
    str(Model.Edsr): ("edsr", "EdsrModel"),
    str(Model.EmformerTranscribe): ("emformer_rnnt", "EmformerRnntTranscriberModel"),
    str(Model.EmformerPredict): ("emformer_rnnt", "EmformerRnntPredictorModel"),
    str(Model.EmformerJoin): ("emformer_rnnt", "EmformerRnntJoinerModel"),
    str(Model.Llama2): ("llama", "Llama2Model"),
    str(Model.Llama): ("llama", "Llama2Model"),
    str(Model.Llama32VisionEncoder): ("llama3_2_vision", "FlamingoVisionEncoderModel"),
    str(Model.Lstm): ("lstm", "LSTMModel"),
    str(Model.MobileBert): ("mobilebert", "MobileBertModelExample"),
    str(Model.Mv2): ("mobilenet_v2", "MV2Model"),
    str(Model.Mv2Untrained): ("mobilenet_v2", "MV2UntrainedModel"),
    str(Model.Mv3): ("mobilenet_v3", "MV3Model"),
    str(Model.Vit): ("torchvision_vit", "TorchVisionViTModel"),
    str(Model.W2l): ("wav2letter", "Wav2LetterModel"),
    str(Model.Ic3): ("inception_v3", "InceptionV3Model"),
    str(Model.Ic4): ("inception_v4", "InceptionV4Model"),
    str(Model.ResNet18): ("resnet", "ResNet18Model"),
    str(Model.ResNet50): ("resnet", "ResNet50Model"),
    str(Model.DeiTTiny): ("deit_tiny", "DeiTTinyModel"),
    str(Model.Llava): ("llava", "LlavaModel"),
    str(Model.EfficientSam): ("efficient_sam", "EfficientSAM"),
    str(Model.Qwen25): ("qwen2_5", "Qwen2_5Model"),
    str(Model.Qwen3): ("qwen3", "Qwen3Model"),
    str(Model.Phi4Mini): ("phi_4_mini", "Phi4MiniModel"),
    str(Model.SmolLM2): ("smollm2", "SmolLM2Model"),
    str(Model.SmolVLM): ("smolvlm", "SmolVLMModel"),
    str(Model.YOLO26): ("yolo26", "YOLO26Model"),
    str(Model.Whisper): ("whisper", "WhisperModel"),
    str(Model.DeepAutoEncoder): ("mlperf_tiny.deep_autoencoder", "DeepAutoEncoderModel"),
    str(Model.DSCNN): ("mlperf_tiny.ds_cnn", "DSCNNKWSModel"),
    str(Model.MobileNetV1025): ("mlperf_tiny.mobilenet_v1_025", "MobileNetV1025Model"),
    str(Model.ResNet8): ("mlperf_tiny.resnet8", "ResNet8Model"),
}

_NEEDS_WEIGHTS = "it needs downloaded weights; build it with its own package and lower it by executorch.exir"
_NEEDS_CONFIG = "it needs an LlmConfig: pass llm_config to create_model, or run extension.llm.export.export_llm"
_TOO_LARGE = "its 7 billion parameters take 28 GB in float32; export it from a checkpoint by executorch.exir"
# Registered module that commands cannot build from a name → why.
UNAVAILABLE_MODULES: dict[str, str] = {
    "emformer_rnnt": "torchaudio defines it; build it with torchaudio and lower it by executorch.exir",
    "llama3_2_vision": "it needs torchtune and downloaded weights",
    "efficient_sam": _NEEDS_WEIGHTS,
    "llava": _TOO_LARGE,
    "phi_4_mini": _NEEDS_CONFIG,
    "qwen2_5": _NEEDS_CONFIG,
    "qwen3": _NEEDS_CONFIG,
    "smollm2": _NEEDS_CONFIG,
    "smolvlm": _NEEDS_WEIGHTS,
    "yolo26": "it needs the package ultralytics and downloaded weights",
}


def available_models() -> list[str]:
    """Return the registered names whose models this distribution defines, in the registry's order."""
    return [name for name, (module, _) in MODEL_NAME_TO_MODEL.items() if module not in UNAVAILABLE_MODULES]


def find_model(name: str) -> tuple[str, str]:
    """Return the module and class of a model. Raises UnknownModelError or UnavailableModelError."""
    if name not in MODEL_NAME_TO_MODEL:
        near = difflib.get_close_matches(name, MODEL_NAME_TO_MODEL, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownModelError(f"no example model is named '{name}': {hint}available: {', '.join(available_models())}")
    module, class_name = MODEL_NAME_TO_MODEL[name]
    if module in UNAVAILABLE_MODULES:
        raise UnavailableModelError(f"example model '{name}' is not available: {UNAVAILABLE_MODULES[module]}")
    return module, class_name


__all__ = [
    "MODEL_NAME_TO_MODEL",
    "UNAVAILABLE_MODULES",
    "Backend",
    "Model",
    "UnavailableModelError",
    "UnknownModelError",
    "available_models",
    "find_model",
]
