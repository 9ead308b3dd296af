"""The record of 4.3: round, clamp, cast."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l04_grouped_kv import answers_sim as answers
from fp8lab.course.lessons.l04_grouped_kv.driving import DRIVES
from fp8lab.course.text import Text


def show_code(inputs, array: str, index: tuple[int, ...]) -> str:
    if array != "code":
        _, scale, qmax = inputs["cases"][index[0]]
        return f"{array}, scale {scale:g}, fp8_qmax {qmax}"
    flat = [(v, scale, qmax) for values, scale, qmax in inputs["cases"] for v in values.tolist()]
    value, scale, qmax = flat[index[0]] if index[0] < len(flat) else flat[-1]
    return f"value {value:.6g}, scale {scale:g}, value * scale {value * scale:.6g}, fp8_qmax {qmax}"


CODES = Exercise(
    drive=DRIVES["4.3"],
    points=2,
    title=Text("Quantized values", "量化值"),
    hints=(
        Text(
            "Three steps, in this order: to the nearest integer, into the range, into the container.",
            "三步，依次是：取最近的整数，钳位到范围内，装进容器。",
        ),
        Text(
            "`torch.round` sends ties to the even integer, as every correct implementation does: 0.5, 1.5, 2.5 become "
            "0, 2, 2.",
            "`torch.round` 遇到平局时取偶数，正确的实现都这样：0.5、1.5、2.5 变成 0、2、2。",
        ),
        Text(
            "The range is symmetric, from `-self.fp8_qmax` to `self.fp8_qmax`. It must be applied before the cast: a "
            "cast of 300 to int8 wraps around.",
            "范围是对称的：从 `-self.fp8_qmax` 到 `self.fp8_qmax`。必须在转换之前钳位：把 300 转成 int8 会回绕。",
        ),
    ),
    reference=answers.FP8KVCacheSim,
    misconceptions=(
        Misconception(
            "truncation",
            answers.truncate,
            Text(
                "The cast cuts the fraction off: 3.7 becomes 3 and -3.7 becomes -3. Everything shrinks toward zero, "
                "by half a step on average, and the errors of a dot product add up. An int8 store in vLLM did this "
                "(vllm#45361). Round first.",
                "转换会砍掉小数部分：3.7 变成 3，-3.7 变成 -3。所有值都向零收缩，平均半个台阶，点积里的误差就越积越"
                "多。vLLM 的 INT8 KV 缓存写入犯过这个错（vllm#45361）。要先舍入。",
            ),
        ),
        Misconception(
            "floor",
            answers.floor,
            Text(
                "floor goes down on both sides of zero: 3.7 becomes 3, -3.7 becomes -4. The mean of the whole cache "
                "is shifted by half a step.",
                "floor 在零的两边都向下：3.7 变成 3，-3.7 变成 -4。整个缓存的均值都偏了半个台阶。",
            ),
        ),
        Misconception(
            "half up",
            answers.half_up,
            Text(
                "floor(x + 0.5) sends every tie up: 0.5 becomes 1, 2.5 becomes 3, -0.5 becomes 0. bf16 data have many "
                "ties, and they all drift the same way.",
                "floor(x + 0.5) 让平局全都向上：0.5 变成 1，2.5 变成 3，-0.5 变成 0。bf16 数据里平局很多，全往一个方向"
                "漂。",
            ),
        ),
        Misconception(
            "half away from zero",
            answers.half_away,
            Text(
                "The rounding of school: 0.5 becomes 1 and 2.5 becomes 3. torch, numpy and the hardware send ties to "
                "even: 0 and 2.",
                "课堂上的四舍五入：0.5 变成 1，2.5 变成 3。torch、numpy 和硬件都是平局取偶：0 和 2。",
            ),
        ),
        Misconception(
            "no clamp",
            answers.wrapped,
            Text(
                "A scale may come from elsewhere, from a calibration or from yesterday's tokens, and then values lie "
                "beyond it. Without a clamp 300 wraps around to 44 and 130 to -126: the largest value of the row gets "
                "the wrong sign.",
                "尺度可能来自别处：来自校准，或者来自更早的 token，这时就会有值超出范围。不钳位，300 就会回绕成 44，"
                "130 回绕成 -126：一行里最大的值，连符号都错了。",
            ),
        ),
        Misconception(
            "down to -128",
            answers.to_minus_128,
            Text(
                "[-128, 127] is the range of the container, not of the grid. The grid is symmetric: -x must become "
                "minus the code of x. And fp8_qmax may be smaller than 127.",
                "[-128, 127] 是容器的范围，不是网格的范围。网格是对称的：-x 的编码必须是 x 的编码取负。而且 fp8_qmax 可"
                "能小于 127。",
            ),
        ),
        Misconception(
            "127, whatever fp8_qmax is",
            answers.ends_of_int8,
            Text(
                "The ends are `self.fp8_qmax`. With 7, the codes have to fit four bits; yours go up to 127.",
                "两端应是 `self.fp8_qmax`。设成 7 时，编码必须装进 4 比特；你的会到 127。",
            ),
        ),
        Misconception(
            "divided by the scale",
            answers.divided,
            Text(
                "In this class values are multiplied by the scale, and codes are divided by it. You divide here: with "
                "scale 2 the value 0.6 becomes 0 instead of 1.",
                "在这个类里，值乘以尺度，编码除以尺度。你在这里用了除法：尺度为 2 时，0.6 变成 0 而不是 1。",
            ),
        ),
        Misconception(
            "not in int8",
            answers.float_codes,
            Text(
                "The codes are right, and they are still float32: four bytes each, so the cache has not become "
                "smaller at all. `.to(torch.int8)` comes last.",
                "编码没错，可它们还是 float32：每个 4 字节，缓存一点也没变小。最后要 `.to(torch.int8)`。",
            ),
        ),
        Misconception(
            "no negative codes",
            answers.unsigned,
            Text(
                "You clamp to 0..qmax, so every negative value becomes 0. Keys and values have both signs.",
                "你钳位到了 0..qmax，负值全变成 0。K 和 V 有正有负。",
            ),
        ),
        Misconception(
            "input changed in place",
            answers.codes_in_place,
            Text(
                "`mul_` multiplies the caller's tensor itself: `float()` and `flatten()` copy nothing when there is "
                "nothing to do. The model goes on with keys that are 100 times too large.",
                "`mul_` 乘的是调用者的张量本身：`float()` 和 `flatten()` 在无事可做时并不复制。模型接下来用的 K 就大了上"
                "百倍。",
            ),
        ),
    ),
    variants=(answers.clamped_first,),
    show=show_code,
)

EXERCISES = (CODES,)
