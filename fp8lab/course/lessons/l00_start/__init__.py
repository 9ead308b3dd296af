"""Lesson 00_start: how this course talks to you. `driving.py` for a kernel; `answers.py` and `exercises.py` for a judge."""
