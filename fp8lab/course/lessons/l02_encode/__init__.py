"""Lesson 02_encode: which of two neighbours? `driving*` is for a kernel; `answers_*` and `exercises*` for a judge."""
