"""How the exercises of lesson 04 are exercised. Knows inputs, not answers."""

from __future__ import annotations

from typing import Any

from fp8lab.course.drive import Drive
from fp8lab.course.lessons.l04_grouped_kv import driving_groups, driving_sim

SIM = "FP8KVCacheSim"


def _drive(key: str, name: str, inputs: Any, drive: Any) -> Drive:
    return Drive(key=key, name=name, inputs=inputs, drive=drive)


DRIVES = {
    drive.key: drive
    for drive in (
        _drive("4.1", SIM, driving_sim.absmax_inputs, driving_sim.drive_absmax),
        _drive("4.2", SIM, driving_sim.scale_inputs, driving_sim.drive_scale),
        _drive("4.3", SIM, driving_sim.code_inputs, driving_sim.drive_codes),
        _drive("4.4", SIM, driving_sim.shape_inputs, driving_sim.drive_shape),
        _drive("4.5", SIM, driving_sim.group_inputs, driving_sim.drive_groups),
        _drive("4.6", SIM, driving_sim.cache_inputs, driving_sim.drive_restore),
        _drive("4.7", SIM, driving_sim.mse_inputs, driving_sim.drive_mse),
        _drive("4.8", "quantize_groups", driving_groups.tensor_inputs, driving_groups.drive_tensor),
        _drive("4.9", "grouped_fp8", driving_groups.byte_inputs, driving_groups.drive_bytes),
        _drive("4.10", "ledger", driving_groups.ledger_inputs, driving_groups.drive_ledger),
    )
}
