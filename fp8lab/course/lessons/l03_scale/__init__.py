"""Lesson 03_scale: one number that decides everything. `driving*` is for a kernel; the rest for a judge."""
