# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Results in place of operands: a chain of overwrites becomes one long buffer, where that makes the arena smaller."""

from executorch.exir.memory.problem import Buffer, Lifespan, Offset, Problem, Solution, Solver


def solve_with_overwrites(problem: Problem, solver: Solver) -> Solution:
    """Solve with each chain of overwrites as one buffer, and with none; return the lower solution."""
    buffers = problem.buffers
    chains = _chains(problem)
    if len(chains) == len(buffers):
        return solver(problem)
    merged = Problem([_merged([buffers[i] for i in chain]) for chain in chains])
    # Merging can only reduce the bytes alive at a step, so no solution is below this bound, whichever chains it merges.
    bound = merged.lower_bound
    solution = solver(merged)
    if solution.height > bound:
        apart = solver(Problem(buffers))  # long buffers can obstruct each other
        if apart.height < solution.height:
            return Solution(apart.offsets, apart.height, bound)
    offsets = [Offset(0)] * len(buffers)
    for chain, offset in zip(chains, solution.offsets, strict=True):
        for index in chain:
            offsets[index] = offset
    return Solution(offsets, solution.height, bound)


def _chains(problem: Problem) -> list[list[int]]:
    """Return the buffers in chains: an operand, the result that may overwrite it, the next result, and so on."""
    chain_of: dict[int, list[int]] = {}
    chains: list[list[int]] = []
    for index in sorted(range(len(problem.buffers)), key=lambda i: problem.buffers[i].lifespan.first):
        chain = chain_of.get(problem.overwrites.get(index, -1))
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append(index)
        chain_of[index] = chain
    return chains


def _merged(chain: list[Buffer]) -> Buffer:
    lifespans = [buffer.lifespan for buffer in chain]
    lifespan = Lifespan(min(lifespan.first for lifespan in lifespans), max(lifespan.last for lifespan in lifespans))
    return Buffer(chain[0].size, lifespan)
