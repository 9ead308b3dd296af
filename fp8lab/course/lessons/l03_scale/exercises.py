"""The records of lesson 03, in four files by subject."""

from __future__ import annotations

from fp8lab.course.lessons.l03_scale import exercises_absmax, exercises_fp8, exercises_int8, exercises_measure

EXERCISES = (
    *exercises_absmax.EXERCISES,
    *exercises_int8.EXERCISES,
    *exercises_fp8.EXERCISES,
    *exercises_measure.EXERCISES,
)
