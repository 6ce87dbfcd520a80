# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs of every form the format allows, for property tests.

They are consistent where the format requires it and arbitrary elsewhere.
"""

from typing import Any

from hypothesis import strategies as st

from executorch.exir import schema as s
from executorch.exir.scalar_type import element_size
from executorch.exir.serialize import NamedBlob, PteFile

I8, U32, I32 = st.integers(-128, 127), st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)
I64, U64 = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
TEXT = st.text(max_size=12)
INDICES = st.lists(I32, max_size=5)
FLOATS = st.floats(allow_nan=False)

SCALARS = st.one_of(
    st.builds(s.Null),
    st.builds(s.Int, I64),
    st.builds(s.Bool, st.booleans()),
    st.builds(s.Double, FLOATS),
    st.builds(s.String, TEXT),
    st.builds(s.IntList, st.lists(I64, max_size=5)),
    st.builds(s.DoubleList, st.lists(FLOATS, max_size=5)),
    st.builds(s.BoolList, st.lists(st.booleans(), max_size=5)),
    st.builds(s.TensorList, INDICES),
    st.builds(s.OptionalTensorList, INDICES),
)
EXTRA = st.none() | st.builds(
    s.ExtraTensorInfo, U64, st.none() | TEXT, st.just(s.TensorDataLocation.SEGMENT), st.sampled_from(s.DeviceType), I8
)
PLACE = st.builds(s.AllocationDetails, U32, U32, U32)
INSTRUCTIONS = st.builds(
    s.Instruction,
    st.one_of(
        st.builds(s.KernelCall, I32, INDICES),
        st.builds(s.DelegateCall, I32, INDICES),
        st.builds(s.MoveCall, I32, I32),
        st.builds(s.JumpFalseCall, I32, I32),
        st.builds(s.FreeCall, I32),
    ),
)
FRAMES = st.builds(s.FrameList, st.lists(st.builds(s.Frame, TEXT, I32, TEXT, TEXT), max_size=2))
CHAINS = st.builds(
    s.Chain, INDICES, INDICES, st.lists(INSTRUCTIONS, max_size=4), st.none() | st.lists(FRAMES, min_size=1, max_size=2)
)
DEVICES = st.lists(st.builds(s.NonConstBufferDevice, I32, st.sampled_from(s.DeviceType), I8), min_size=1, max_size=2)


@st.composite
def tensors(draw: Any, buffers: list[s.Buffer], initial: list[s.Buffer]) -> s.Tensor:
    """A tensor; if it has data, the buffer is made with it: constants in `buffers`, initial values in `initial`."""
    sizes, kind = draw(st.lists(st.integers(0, 4), max_size=3)), draw(st.sampled_from(s.ScalarType))
    place, has_data, index = draw(st.none() | PLACE), draw(st.booleans()), 0
    if has_data:
        count = element_size(kind)
        for size in sizes:
            count *= size
        kept = buffers if place is None else initial
        index = len(kept)
        kept.append(s.Buffer(draw(st.binary(min_size=count, max_size=count))))
    return s.Tensor(
        scalar_type=kind,
        storage_offset=draw(I32),
        sizes=sizes,
        dim_order=draw(st.permutations(range(len(sizes)))),
        requires_grad=draw(st.booleans()),
        layout=draw(I8),
        data_buffer_idx=index,
        allocation_info=place,
        shape_dynamism=draw(st.sampled_from(s.TensorShapeDynamism)),
        extra_tensor_info=draw(EXTRA),
    )


@st.composite
def files(draw: Any) -> PteFile:
    buffers, initial = [s.Buffer(b"")], [s.Buffer(b"")]
    payloads = draw(st.lists(st.binary(max_size=40), max_size=3))
    plans = []
    for number in range(draw(st.integers(0, 2))):
        values = [
            s.EValue(draw(tensors(buffers, initial)) if draw(st.booleans()) else draw(SCALARS))
            for _ in range(draw(st.integers(0, 6)))
        ]
        specs = st.lists(st.builds(s.CompileSpec, TEXT, st.binary(max_size=5)), max_size=2)
        # Every payload has a delegate, because reading a file drops payloads without one.
        delegates = [
            s.BackendDelegate(draw(TEXT), s.BackendDelegateDataReference(s.DataLocation.INLINE, index), draw(specs))
            for index in range(len(payloads))
        ]
        plans.append(
            s.ExecutionPlan(
                name=f"method_{number}",
                container_meta_type=s.ContainerMetadata(draw(TEXT), draw(TEXT)),
                values=values,
                inputs=draw(INDICES),
                outputs=draw(INDICES),
                chains=draw(st.lists(CHAINS, max_size=2)),
                operators=draw(st.lists(st.builds(s.Operator, TEXT, TEXT), max_size=3)),
                delegates=delegates,
                non_const_buffer_sizes=draw(st.lists(I64, max_size=3)),
                non_const_buffer_device=draw(st.none() | DEVICES),
            )
        )
    data = [s.BackendDelegateInlineData(payload) for payload in payloads] if plans else []
    program = s.Program(draw(U32), plans, buffers, data)
    named = draw(st.dictionaries(TEXT, st.builds(NamedBlob, st.binary(max_size=40)), max_size=3))
    return PteFile(program, initial if len(initial) > 1 else None, named)
