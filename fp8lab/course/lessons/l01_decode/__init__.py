"""Lesson 01_decode: what does byte 0x78 mean? `driving*.py` for a kernel; `answers_*.py` and `exercises*.py` for a judge."""
