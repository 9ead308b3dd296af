"""The records of lesson 04, in six files by subject."""

from __future__ import annotations

from fp8lab.course.lessons.l04_grouped_kv import (
    exercises_back,
    exercises_bytes,
    exercises_codes,
    exercises_group,
    exercises_kv,
    exercises_one_scale,
)

EXERCISES = (
    *exercises_one_scale.EXERCISES,
    *exercises_codes.EXERCISES,
    *exercises_kv.EXERCISES,
    *exercises_back.EXERCISES,
    *exercises_group.EXERCISES,
    *exercises_bytes.EXERCISES,
)
