# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One engine with one model in a process of its own: prepares it, then times calls on request.

``PYTHON engine_worker.py ENGINE MODEL THREADS``, PYTHON being the interpreter where the engine is installed. Speaks
JSON lines: first what preparing took and how far the results are from eager's; then, for each line read, the median
seconds of a call over that many seconds. Ours and the peer have one API, and so one entry.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Call = Callable[[], Any]


class Prepared(NamedTuple):
    """A call that returns the model's outputs, or None, and its known facts (seconds, counts)."""

    call: Call
    facts: dict[str, float]


def _eager(model: Any, inputs: tuple[Any, ...], threads: int, folder: Path) -> Prepared:
    return Prepared(lambda: model(*inputs), {})


def _loaded(load: Callable[[], Any]) -> tuple[Any, float]:
    """The last of three loaded objects, and the median load time: the first load may touch new memory."""
    seconds: list[float] = []
    loaded = None
    for _ in range(3):
        loaded = None
        start = time.perf_counter()
        loaded = load()
        seconds.append(time.perf_counter() - start)
    return loaded, statistics.median(seconds)


def _executorch(
    delegated: bool, dtype: str = "float32", compute: str = "fp32", int8: bool = False
) -> Callable[..., Prepared]:
    """Return a function that prepares this project or the peer.

    dtype: of the model and its inputs. compute: the precision of the factors in float32 products.
    """

    def prepare(model: Any, inputs: tuple[Any, ...], threads: int, folder: Path) -> Prepared:
        import torch

        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower
        from executorch.extension.pybindings import portable_lib
        from executorch.runtime import Runtime

        half = getattr(torch, dtype)
        model, inputs = model.to(half), tuple(x.to(half) if x.is_floating_point() else x for x in inputs)
        if int8:
            from benchmark.quantization.int8_models import torchao_model

            model = torchao_model(model, inputs)
        exported = torch.export.export(model, inputs)
        start = time.perf_counter()
        # The peer's partitioner lacks this argument.
        partitioner = XnnpackPartitioner(**({} if compute == "fp32" else {"compute_precision": compute}))
        edge = to_edge_transform_and_lower(exported, partitioner=[partitioner] if delegated else None)
        buffer = edge.to_executorch().buffer
        lowered = time.perf_counter() - start
        path = folder / "model.pte"
        path.write_bytes(buffer)
        targets = [str(node.target) for node in edge.exported_program().graph.nodes if node.op == "call_function"]
        delegates = sum("executorch_call_delegate" in target for target in targets)
        others = sum("executorch_call_delegate" not in t and "getitem" not in t for t in targets)
        portable_lib._unsafe_reset_threadpool(threads)

        def load() -> tuple[Any, Any]:
            program = Runtime.get().load_program(path)
            return program, program.load_method("forward")

        (program, method), loaded = _loaded(load)
        arguments = list(inputs)
        # The default argument keeps the program: the peer's methods do not.
        facts = {"lowering": lowered, "load": loaded, "delegates": delegates, "other operators": others}
        return Prepared(lambda keep=program: method.execute(arguments), facts)

    return prepare


def _onnx_file(model: Any, inputs: tuple[Any, ...], folder: Path) -> Path:
    import torch

    path = folder / "model.onnx"
    torch.onnx.export(model, inputs, str(path), dynamo=True, verbose=False)
    return path


def _onnxruntime(int8: bool) -> Callable[..., Prepared]:
    def prepare(model: Any, inputs: tuple[Any, ...], threads: int, folder: Path) -> Prepared:
        import onnxruntime

        path = _onnx_file(model, inputs, folder)
        if int8:
            from benchmark.quantization.int8_models import onnxruntime_file

            path = onnxruntime_file(model, inputs, path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session, loaded = _loaded(
            lambda: onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        )
        feed = {item.name: value.numpy() for item, value in zip(session.get_inputs(), inputs, strict=True)}
        return Prepared(lambda: session.run(None, feed), {"load": loaded})

    return prepare


def _openvino(precision: str | None, int8: bool = False) -> Callable[..., Prepared]:
    """Return a function that prepares openvino.

    precision: None leaves it to openvino, which computes in bfloat16 where the processor computes it fast.
    """

    def prepare(model: Any, inputs: tuple[Any, ...], threads: int, folder: Path) -> Prepared:
        import openvino

        source: Any = str(_onnx_file(model, inputs, folder))
        if int8:
            from benchmark.quantization.int8_models import openvino_model

            source = openvino_model(model, inputs, source)
        settings: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        if precision is not None:
            settings["INFERENCE_PRECISION_HINT"] = precision
        compiled, loaded = _loaded(lambda: openvino.Core().compile_model(source, "CPU", settings))
        request, feed = compiled.create_infer_request(), [value.numpy() for value in inputs]
        return Prepared(lambda: list(request.infer(feed).values()), {"load": loaded})

    return prepare


def _peak(precision: str) -> Callable[..., Prepared]:
    def prepare(model: Any, inputs: tuple[Any, ...], threads: int, folder: Path) -> Prepared:
        from benchmark.peak.multiply_adds import multiply_adds, product_operations

        operations = product_operations(model, inputs)
        return Prepared(multiply_adds(precision, operations, threads), {"operations": operations})

    return prepare


def _xnnpack(model: Any, inputs: tuple[Any, ...], threads: int, folder: Path) -> Prepared:
    """XNNPACK's operator without a delegate. Images have their channels last, as it takes them."""
    import ctypes

    import torch

    if "XNNPACK_DIRECT" not in os.environ:
        raise SystemExit("XNNPACK_DIRECT is not set")
    library = ctypes.CDLL(os.environ["XNNPACK_DIRECT"])
    (x,) = inputs
    if isinstance(model, torch.nn.Linear):
        make, sizes, y = library.direct_linear, (*x.shape, model.out_features), model(x)
    elif isinstance(model, torch.nn.Conv2d) and model.groups == model.in_channels == model.out_channels:
        make, sizes, y = library.direct_depthwise, (*x.shape[2:], x.shape[1], model.kernel_size[0]), model(x)
        x, y = (image.contiguous(memory_format=torch.channels_last) for image in (x, y))
    else:
        raise SystemExit("no model of one operator of XNNPACK")
    y.zero_()
    weights, bias = model.weight.detach().contiguous(), model.bias.detach()
    make.restype = ctypes.c_void_p
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (weights, bias, x, y)]
    made = ctypes.c_void_p(make(*map(ctypes.c_size_t, sizes), *pointers, ctypes.c_size_t(threads)))
    if not made:
        raise SystemExit("XNNPACK refuses the operator")

    def call() -> list[Any]:
        if not library.direct_run(made):
            raise RuntimeError("XNNPACK's operator failed")
        return [y]

    # Keep the memory that the pointers refer to alive as long as the call.
    call.alive = (weights, bias, x)  # type: ignore[attr-defined]
    return Prepared(call, {})


PREPARE: dict[str, Callable[..., Prepared]] = {
    "eager": _eager,
    "executorch": _executorch(delegated=True),
    "executorch-half": _executorch(delegated=True, dtype="float16"),
    "executorch-bfloat16": _executorch(delegated=True, dtype="bfloat16"),
    "executorch-bf16-compute": _executorch(delegated=True, compute="bf16"),
    "executorch-portable": _executorch(delegated=False),
    "executorch-int8": _executorch(delegated=True, int8=True),
    "onnxruntime": _onnxruntime(int8=False),
    "onnxruntime-int8": _onnxruntime(int8=True),
    "xnnpack": _xnnpack,
    "openvino": _openvino("f32"),
    "openvino-default": _openvino(None),
    "openvino-int8": _openvino("f32", int8=True),
    "peak-fp32": _peak("fp32"),
    "peak-bf16": _peak("bf16"),
    "peak-int8": _peak("int8"),
}


def difference(results: Any, expected: Any) -> float:
    """The largest absolute difference of the first output."""
    import numpy as np

    first = results[0] if isinstance(results, (list, tuple)) else results
    first = first.float() if hasattr(first, "float") else first  # numpy lacks bfloat16
    return float(np.abs(np.asarray(first) - np.asarray(expected)).max())


def _times(call: Call, min_seconds: float) -> list[float]:
    times: list[float] = []
    while sum(times) < min_seconds or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def median_seconds(call: Call, min_seconds: float) -> float:
    """The median time of a call, over at least ``min_seconds`` seconds and three calls."""
    return statistics.median(_times(call, min_seconds))


def least_seconds(call: Call, min_seconds: float) -> float:
    """The minimum time of a call, over as many: other work on the machine disturbs it least."""
    return min(_times(call, min_seconds))


def main() -> None:
    """Prepare, then answer."""
    engine, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    # Libraries print; only answers go to the real output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    import torch
    from models import make

    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model, inputs = make(name)
        expected = model(*inputs).clone()
        model, inputs = make(name)  # a stateful model starts anew
        call, facts = PREPARE[engine](model, inputs, threads, Path(folder))
        outputs = call()
        if outputs is not None:
            facts["difference"] = difference(outputs, expected)
        print(json.dumps(facts), file=answers, flush=True)
        for line in sys.stdin:
            print(median_seconds(call, float(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
