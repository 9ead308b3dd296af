"""Lesson 01_decode: what does byte 0x78 mean? `driving*.py` for a kernel, the other files for a judge."""
