"""The records of lesson 05, in seven files by subject."""

from __future__ import annotations

from fp8lab.course.lessons.l05_granularity import (
    exercises_channel,
    exercises_choice,
    exercises_fold,
    exercises_head,
    exercises_powers,
    exercises_rotation,
    exercises_token,
)

EXERCISES = (
    *exercises_head.EXERCISES,
    *exercises_token.EXERCISES,
    *exercises_channel.EXERCISES,
    *exercises_choice.EXERCISES,
    *exercises_powers.EXERCISES,
    *exercises_rotation.EXERCISES,
    *exercises_fold.EXERCISES,
)
