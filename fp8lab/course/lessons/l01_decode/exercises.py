"""The records of lesson 01, in the order of the lesson."""

from fp8lab.course.lessons.l01_decode.exercises_audit import AUDIT
from fp8lab.course.lessons.l01_decode.exercises_decode import CLASSIFY, DECODE
from fp8lab.course.lessons.l01_decode.exercises_fields import FIELDS
from fp8lab.course.lessons.l01_decode.exercises_table import TABLE
from fp8lab.course.lessons.l01_decode.exercises_values import NORMAL, SUBNORMAL

EXERCISES = (FIELDS, NORMAL, SUBNORMAL, DECODE, TABLE, CLASSIFY, AUDIT)
