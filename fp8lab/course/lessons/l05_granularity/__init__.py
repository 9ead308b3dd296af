"""Lesson 05: which axis shares a scale, and who pays for it."""
