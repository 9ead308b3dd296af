"""Lesson 10: the records of its exercises. Importing them needs no Triton."""
