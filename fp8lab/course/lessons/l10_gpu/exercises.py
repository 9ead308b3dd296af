"""The records of lesson 10, in six files by subject."""

from __future__ import annotations

from fp8lab.course.lessons.l10_gpu import (
    exercises_attention,
    exercises_bits,
    exercises_bytes,
    exercises_group,
    exercises_pages,
    exercises_ragged,
)

EXERCISES = (
    *exercises_group.EXERCISES,
    *exercises_ragged.EXERCISES,
    *exercises_pages.EXERCISES,
    *exercises_attention.EXERCISES,
    *exercises_bytes.EXERCISES,
    *exercises_bits.EXERCISES,
)
