"""The records of lesson 02, in four files by subject."""

from __future__ import annotations

from fp8lab.course.lessons.l02_encode import (
    exercises_edges,
    exercises_formats,
    exercises_neighbours,
    exercises_tensor,
)

EXERCISES = (
    *exercises_neighbours.EXERCISES,
    *exercises_edges.EXERCISES,
    *exercises_tensor.EXERCISES,
    *exercises_formats.EXERCISES,
)
