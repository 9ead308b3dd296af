"""Lesson 04: a class with seven holes, then the loop goes, the container becomes FP8, and the scales are paid for."""
