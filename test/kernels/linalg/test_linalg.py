# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs of linear algebra give eager's results, or, where several are valid, results with the defining property."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle.tolerances import DECOMPOSITIONS, EXACT, MODEL
from torch import Tensor

from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from executorch.runtime.errors import InvalidArgumentError

LINALG = torch.linalg
DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)

pytestmark = pytest.mark.skipif(
    "aten::linalg_inv_ex.inverse" not in Runtime.get().operator_registry.operator_names,
    reason="built without Eigen",
)


def run(function: Callable[..., Any], *args: Tensor, given: tuple[Tensor, ...] = ()) -> list[Tensor]:
    program = to_edge_transform_and_lower(torch.export.export(Function(function), args)).to_executorch()
    output = Runtime.get().load_program(program.buffer).load_method("forward").execute(list(given or args))
    return [value for value in output if isinstance(value, Tensor)]


def assert_as_eager(function: Callable[..., Any], *args: Tensor) -> None:
    expected = function(*args)
    expected = [expected] if isinstance(expected, Tensor) else list(expected)
    found = run(function, *args)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(
            one, other, **DECOMPOSITIONS.get(other.dtype, EXACT), equal_nan=True, check_stride=False
        )


def random(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*sizes, dtype=dtype, generator=torch.Generator().manual_seed(sum(sizes)))


def regular(*batch: int, n: int = 4, dtype: torch.dtype = torch.float32) -> Tensor:
    return random(*batch, n, n, dtype=dtype) + 4 * torch.eye(n, dtype=dtype)


def positive(*batch: int, n: int = 4, dtype: torch.dtype = torch.float32) -> Tensor:
    matrix = random(*batch, n, n, dtype=dtype)
    return matrix @ matrix.mH + n * torch.eye(n, dtype=dtype)


# name → (function, arguments of a dtype)
UNIQUE: dict[str, tuple[Callable[..., Any], Callable[[torch.dtype], tuple[Tensor, ...]]]] = {
    "cholesky": (LINALG.cholesky, lambda d: (positive(2, 3, dtype=d),)),
    "cholesky_upper": (lambda x: LINALG.cholesky(x, upper=True), lambda d: (positive(dtype=d),)),
    "cholesky_inverse": (torch.cholesky_inverse, lambda d: (LINALG.cholesky(positive(2, dtype=d)),)),
    "cholesky_solve": (
        torch.cholesky_solve,
        lambda d: (random(2, 4, 3, dtype=d), LINALG.cholesky(positive(2, dtype=d))),
    ),
    "det": (LINALG.det, lambda d: (regular(2, 1, dtype=d),)),
    "eigvalsh": (LINALG.eigvalsh, lambda d: (positive(2, dtype=d),)),
    "geqrf": (torch.geqrf, lambda d: (random(2, 5, 3, dtype=d),)),
    "geqrf_wide": (torch.geqrf, lambda d: (random(3, 5, dtype=d),)),
    "householder_product": (
        lambda x: LINALG.householder_product(*torch.geqrf(x)),
        lambda d: (random(2, 5, 3, dtype=d),),
    ),
    "inv": (LINALG.inv, lambda d: (regular(2, 3, dtype=d),)),
    "lu": (LINALG.lu, lambda d: (random(2, 4, 6, dtype=d),)),
    "lu_tall": (LINALG.lu, lambda d: (random(6, 4, dtype=d),)),
    "lu_factor": (LINALG.lu_factor, lambda d: (random(2, 4, 4, dtype=d),)),
    "lu_solve": (
        lambda a, b: LINALG.lu_solve(*LINALG.lu_factor(a), b),
        lambda d: (regular(2, dtype=d), random(2, 4, 3, dtype=d)),
    ),
    "lu_solve_adjoint": (
        lambda a, b: LINALG.lu_solve(*LINALG.lu_factor(a), b, adjoint=True),
        lambda d: (regular(2, dtype=d), random(2, 4, 3, dtype=d)),
    ),
    "lu_solve_right": (
        lambda a, b: LINALG.lu_solve(*LINALG.lu_factor(a), b, left=False, adjoint=True),
        lambda d: (regular(2, dtype=d), random(2, 3, 4, dtype=d)),
    ),
    "lu_unpack": (lambda x: torch.lu_unpack(*LINALG.lu_factor(x)), lambda d: (random(2, 5, 3, dtype=d),)),
    "matrix_exp": (LINALG.matrix_exp, lambda d: (random(2, 4, 4, dtype=d),)),
    "matrix_power": (lambda x: LINALG.matrix_power(x, -3), lambda d: (regular(dtype=d),)),
    "matrix_rank": (LINALG.matrix_rank, lambda d: (random(2, 4, 2, dtype=d) @ random(2, 2, 4, dtype=d),)),
    "nuclear_norm": (lambda x: LINALG.matrix_norm(x, "nuc"), lambda d: (random(3, 5, dtype=d),)),
    "ormqr": (
        lambda x, y: torch.ormqr(*torch.geqrf(x), y, transpose=True),
        lambda d: (random(5, 3, dtype=d), random(5, 2, dtype=d)),
    ),
    "ormqr_right": (
        lambda x, y: torch.ormqr(*torch.geqrf(x), y, left=False),
        lambda d: (random(5, 3, dtype=d), random(2, 5, dtype=d)),
    ),
    "pinv": (LINALG.pinv, lambda d: (random(2, 5, 3, dtype=d),)),
    "pinv_hermitian": (lambda x: LINALG.pinv(x, hermitian=True), lambda d: (positive(2, dtype=d),)),
    "qr": (LINALG.qr, lambda d: (random(2, 5, 3, dtype=d),)),
    "qr_complete": (lambda x: LINALG.qr(x, mode="complete"), lambda d: (random(5, 3, dtype=d),)),
    "qr_wide": (LINALG.qr, lambda d: (random(3, 5, dtype=d),)),
    "slogdet": (LINALG.slogdet, lambda d: (regular(2, dtype=d),)),
    "solve": (LINALG.solve, lambda d: (regular(2, 1, dtype=d), random(3, 4, 2, dtype=d))),
    "solve_right": (
        lambda a, b: LINALG.solve(a, b, left=False),
        lambda d: (regular(2, dtype=d), random(2, 3, 4, dtype=d)),
    ),
    "solve_vectors": (LINALG.solve, lambda d: (regular(2, dtype=d), random(2, 4, dtype=d))),
    "solve_triangular": (
        lambda a, b: LINALG.solve_triangular(a, b, upper=False),
        lambda d: (regular(2, dtype=d), random(1, 4, 3, dtype=d)),
    ),
    "solve_triangular_right": (
        lambda a, b: LINALG.solve_triangular(a, b, upper=True, left=False, unitriangular=True),
        lambda d: (regular(dtype=d), random(2, 3, 4, dtype=d)),
    ),
    "svdvals": (LINALG.svdvals, lambda d: (random(2, 5, 3, dtype=d),)),
    "triangular_solve": (
        lambda b, a: torch.triangular_solve(b, a, transpose=True)[0],
        lambda d: (random(4, 2, dtype=d), regular(dtype=d)),
    ),
    "transposed_input": (LINALG.inv, lambda d: (regular(2, 3, dtype=d).mT,)),
}


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", UNIQUE)
def test_a_unique_result_matches_eager(name: str, dtype: torch.dtype) -> None:
    function, arguments = UNIQUE[name]
    assert_as_eager(function, *arguments(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("sizes", [(2, 5, 3), (3, 5), (20, 20)], ids=str)
def test_singular_vectors_are_orthogonal_and_give_the_matrix(
    sizes: tuple[int, ...], full: bool, dtype: torch.dtype
) -> None:
    matrix = random(*sizes, dtype=dtype)
    u, s, vh = run(lambda x: LINALG.svd(x, full_matrices=full), matrix)
    expected = LINALG.svd(matrix, full_matrices=full)
    assert [u.shape, vh.shape] == [expected.U.shape, expected.Vh.shape]
    torch.testing.assert_close(s, expected.S, **DECOMPOSITIONS[dtype])
    k = s.shape[-1]
    torch.testing.assert_close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], matrix, **DECOMPOSITIONS[dtype])
    for one in (u.mH @ u, vh @ vh.mH):
        torch.testing.assert_close(one, torch.eye(one.shape[-1], dtype=dtype).expand_as(one), **DECOMPOSITIONS[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigenvectors_of_a_hermitian_matrix_diagonalize_it(uplo: str, dtype: torch.dtype) -> None:
    matrix = positive(2, 3, dtype=dtype)
    values, vectors = run(lambda x: LINALG.eigh(x, UPLO=uplo), matrix)
    torch.testing.assert_close(values, LINALG.eigvalsh(matrix), **DECOMPOSITIONS[dtype])
    torch.testing.assert_close(vectors * values.unsqueeze(-2) @ vectors.mH, matrix, **DECOMPOSITIONS[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_eigenvectors_of_any_matrix_are_scaled_by_it(dtype: torch.dtype) -> None:
    matrix = random(2, 5, 5, dtype=dtype)
    values, vectors = run(LINALG.eig, matrix)
    torch.testing.assert_close(
        matrix.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2), **DECOMPOSITIONS[dtype]
    )
    torch.testing.assert_close(LINALG.vector_norm(vectors, dim=-2), torch.ones(2, 5, dtype=matrix.real.dtype))


@pytest.mark.parametrize(
    "function",
    [
        LINALG.inv,
        LINALG.det,
        LINALG.slogdet,
        LINALG.cholesky,
        LINALG.matrix_exp,
        LINALG.svdvals,
        LINALG.eigvalsh,
        LINALG.qr,
    ],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3, 3), (2, 0, 0)], ids=str)
def test_empty_matrices_and_empty_batches_match_eager(function: Callable[..., Any], sizes: tuple[int, ...]) -> None:
    assert_as_eager(function, torch.empty(sizes))


@pytest.mark.parametrize(
    ("function", "wrong", "message"),
    [
        (LINALG.inv, torch.zeros(2, 3, 3), r"linalg.inv_ex: the input is singular \(element 1 of the diagonal is 0\)"),
        (LINALG.lu_factor, torch.zeros(3, 3), "linalg.lu_factor_ex: the input is singular"),
        (LINALG.cholesky, -torch.eye(3), "the leading minor of order 1 is not positive definite"),
        (LINALG.svdvals, torch.full((3, 3), torch.nan), "linalg.svd: the algorithm does not converge"),
        (LINALG.eigvalsh, torch.full((3, 3), torch.inf), "linalg.eigh: the algorithm does not converge"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_matrix_that_eager_refuses_stops_the_execution(
    function: Callable[..., Any], wrong: Tensor, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        run(function, torch.eye(3).expand(wrong.shape).clone(), given=(wrong,))


@pytest.mark.parametrize("function", [LINALG.inv_ex, LINALG.cholesky_ex], ids=lambda function: function.__name__)
def test_forms_without_a_check_report_which_matrix_is_wrong(function: Callable[..., Any]) -> None:
    matrices = torch.stack([torch.eye(3), torch.zeros(3, 3)])
    assert run(function, matrices)[1].tolist() == function(matrices).info.tolist() == [0, 1]


def test_a_dynamic_batch_is_solved_at_every_size() -> None:
    batch = torch.export.Dim("batch", min=1, max=5)
    example = (regular(3), random(3, 4, 2))
    program = torch.export.export(Function(LINALG.solve), example, dynamic_shapes=((({0: batch}), {0: batch}),))
    method = (
        Runtime.get().load_program(to_edge_transform_and_lower(program).to_executorch().buffer).load_method("forward")
    )
    for count in (1, 5):
        a, b = regular(count), random(count, 4, 2)
        torch.testing.assert_close(method.execute([a, b])[0], LINALG.solve(a, b), **MODEL)
