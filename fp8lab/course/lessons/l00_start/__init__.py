"""Lesson 00_start: how this course talks to you. `driving.py` for a kernel, the other files for a judge."""
