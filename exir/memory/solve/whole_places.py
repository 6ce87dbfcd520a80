# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A solver that divides memory into places. A buffer starts at a place's first byte and fits inside that place."""

from executorch.exir.memory.problem import Buffer, Offset, Problem, Solution


def whole_places(problem: Problem) -> Solution:
    """Assign buffers to places so that the buffers of one place are never alive together.

    A place is as large as its largest buffer.
    """
    buffers = problem.buffers
    offsets = [Offset(0)] * len(buffers)
    places: list[tuple[Offset, list[Buffer]]] = []
    height = 0
    for index in sorted(range(len(buffers)), key=lambda i: (-buffers[i].size, buffers[i].lifespan.first)):
        buffer = buffers[index]
        for offset, users in places:
            if not any(user.lifespan.meets(buffer.lifespan) for user in users):
                users.append(buffer)
                offsets[index] = offset
                break
        else:
            offsets[index] = Offset(height)
            places.append((offsets[index], [buffer]))
            height += buffer.size
    return Solution(offsets, height, problem.lower_bound)
