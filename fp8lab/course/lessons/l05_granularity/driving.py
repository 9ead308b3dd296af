"""How the exercises of lesson 05 are exercised. Knows inputs, not answers."""

from __future__ import annotations

from typing import Any

from fp8lab.course.drive import Drive
from fp8lab.course.lessons.l05_granularity import driving_axes, driving_output


def _drive(key: str, name: str, inputs: Any, drive: Any) -> Drive:
    return Drive(key=key, name=name, inputs=inputs, drive=drive)


DRIVES = {
    drive.key: drive
    for drive in (
        _drive("5.1", "one_scale", driving_axes.tensor_inputs, driving_axes.drive_tensor),
        _drive("5.2", "per_head", driving_axes.head_inputs, driving_axes.drive_heads),
        _drive("5.3", "append_token", driving_axes.token_inputs, driving_axes.drive_tokens),
        _drive("5.4", "per_channel", driving_axes.channel_inputs, driving_axes.drive_channels),
        _drive("5.5", "choose_axes", driving_output.choice_inputs, driving_output.drive_choice),
        _drive("5.6", "to_e8m0", driving_output.power_inputs, driving_output.drive_powers),
        _drive("5.7", "rotated_attention", driving_output.rotation_inputs, driving_output.drive_rotation),
        _drive("5.8", "folded_attention", driving_output.fold_inputs, driving_output.drive_fold),
    )
}
