"""One package per lesson: `driving.py` (what a kernel needs), `answers.py` and `exercises.py` (what a judge needs)."""
