"""The records of 3.7 and 3.8."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l03_scale import answers_fp8
from fp8lab.course.lessons.l03_scale.driving import DRIVES
from fp8lab.course.text import Text


def show_pair(inputs, array: str, index: tuple[int, ...]) -> str:
    return f"{array} of [{list(inputs)[index[0]]}]"


def show_data(inputs, array: str, index: tuple[int, ...]) -> str:
    name, x = inputs["data"][index[0]]
    rms = x.square().mean().sqrt().item()
    return f"[{name}] absmax {x.abs().amax().item():.4g}, rms {rms:.4g}"


MEASURE = Exercise(
    drive=DRIVES["3.7"],
    points=2,
    title=Text("Three measures of an error", "误差的三种量法"),
    hints=(
        Text(
            "One error tensor, three summaries. Compute it in float64: squares of small numbers vanish in float32.",
            "一个误差张量，三种概括。用 float64 计算：小数的平方在 float32 里会消失。",
        ),
        Text(
            "SQNR is a ratio of powers in decibels: 10 · log10 of (mean of x²) / (mean of error²). More is better.",
            "SQNR 是功率比，以分贝计：10 · log10(x² 的均值 / 误差² 的均值)。越大越好。",
        ),
        Text(
            "Relative error is undefined where x is 0: select `[x != 0]` before the median.",
            "x 为 0 处没有相对误差：取中位数之前先筛选 `[x != 0]`。",
        ),
        Text(
            "`error = restored.double() - x.double()`; `error.square().mean()`; "
            "`10 * math.log10(x.double().square().mean() / mse)`; `(error.abs() / x.double().abs())[x != 0].median()`.",
            "`error = restored.double() - x.double()`；`error.square().mean()`；"
            "`10 * math.log10(x.double().square().mean() / mse)`；"
            "`(error.abs() / x.double().abs())[x != 0].median()`。",
        ),
    ),
    reference=answers_fp8.measure,
    misconceptions=(
        Misconception(
            "root of the mse",
            answers_fp8.root_of_mse,
            Text(
                "You return the root mean square error. MSE keeps the square.",
                "你返回的是均方根误差（RMSE）。MSE 不开根号，保留平方。",
            ),
        ),
        Misconception(
            "mean absolute error",
            answers_fp8.absolute_error,
            Text(
                "You average |error|. MSE averages its square, so one large error weighs as much as many small ones.",
                "你平均的是 |误差|。MSE 平均的是它的平方，所以一个大误差抵得上许多小误差。",
            ),
        ),
        Misconception(
            "20 log10 of a power",
            answers_fp8.twenty_logs,
            Text(
                "20 · log10 is for amplitudes. Mean squares are powers already: 10 · log10. Your number is twice too "
                "large, and 6 dB per bit no longer holds.",
                "20 · log10 用于幅度比。均方值已经是功率，应乘 10。你的数大了一倍，“每位 6 dB”也就不成立了。",
            ),
        ),
        Misconception(
            "natural logarithm",
            answers_fp8.natural_log,
            Text(
                "`math.log` is the natural logarithm; decibels use log10. Your numbers are 2.3 times too large.",
                "`math.log` 是自然对数，分贝用 log10。你的数大了 2.3 倍。",
            ),
        ),
        Misconception(
            "noise over signal",
            answers_fp8.upside_down,
            Text(
                "Noise over signal: the sign is turned. Good quantization has a large positive SQNR.",
                "你用噪声除以信号，符号反了。量化得好，SQNR 应是较大的正数。",
            ),
        ),
        Misconception(
            "peak signal",
            answers_fp8.peak_signal,
            Text(
                "You divide the square of absmax by the noise: that is PSNR, for images. One outlier lifts it by 20 "
                "dB though nothing got better.",
                "你用 absmax 的平方除以噪声，那是图像里的 PSNR。一个离群值就能让它高出 20 dB，其实什么都没变好。",
            ),
        ),
        Misconception(
            "relative to absmax",
            answers_fp8.relative_to_absmax,
            Text(
                "You divide every error by absmax. The relative error compares with the value itself: |error| / |x|, "
                "one by one.",
                "你把每个误差都除以 absmax。相对误差要和各自的数值比：逐个计算 |误差| / |x|。",
            ),
        ),
        Misconception(
            "mean instead of median",
            answers_fp8.mean_of_ratios,
            Text(
                "You take the mean of the ratios. One value near zero has a ratio of thousands and decides it alone; "
                "the median asks the typical value.",
                "你取的是比值的均值。一个接近零的数，比值可达几千，均值由它一个说了算；中位数反映的才是典型情况。",
            ),
        ),
        Misconception(
            "zeros counted",
            answers_fp8.zeros_counted,
            Text(
                "You count the zeros of x: error / 0 is inf (or NaN) and pushes the median up. Where x is 0 there is "
                "no relative error.",
                "你把 x 中的零也算进去了：误差 / 0 是 inf（或 NaN），把中位数顶了上去。x 为 0 处谈不上相对误差。",
            ),
        ),
        Misconception(
            "in float32",
            answers_fp8.in_float32,
            Text(
                "You square in float32. Values of 1e-25 have squares of 1e-50, which are 0 there, and 1e25 gives inf. "
                "KV data does not look like this, gradients do: convert to float64 first.",
                "你在 float32 里求平方。1e-25 的平方是 1e-50，在那里等于 0；1e25 的平方是 inf。KV 数据不会这样，梯度"
                "会：先转 float64。",
            ),
        ),
        Misconception(
            "division by a square that vanished",
            answers_fp8.in_float32_unguarded,
            Text(
                "You divide by an mse that is 0, though there is an error: squares of numbers like 1e-25 are 1e-50, which float32 "
                "does not have. Convert to float64 before you square: `x.double()`, `restored.double()`.",
                "你除以的 mse 是 0，可误差明明存在：1e-25 这样的数平方之后是 1e-50，float32 里没有这么小的数。先转成 float64 再平方：`x.double()`、`restored.double()`。",
            ),
        ),
    ),
    variants=(answers_fp8.measure_in_numpy,),
    tolerance=Tolerance(rtol=1e-5),
    show=show_pair,
)


WINNER = Exercise(
    drive=DRIVES["3.8"],
    points=3,
    title=Text("Uniform or floating: predict the winner", "均匀还是浮点：预测谁赢"),
    hints=(
        Text(
            "int8's step is absmax / 127 everywhere. When is that small compared with a typical value?",
            "int8 的步长处处是 absmax / 127。什么时候它比典型的数值小得多？",
        ),
        Text(
            "Everything hangs on absmax / rms, the crest factor. FP8 does not care about it: its error is a share of "
            "each value.",
            "一切取决于 absmax / rms，即峰值因数。FP8 不在乎它：误差是每个数值的一个固定比例。",
        ),
        Text(
            "Noise of int8: step² / 12. So its SQNR is 10·log10(12 · 127²) - 20·log10(crest) = 52.9 dB - "
            "20·log10(crest). FP8 stays at 31 to 32 dB. Where do they meet?",
            "int8 的噪声是步长² / 12，所以 SQNR = 10·log10(12 · 127²) - 20·log10(峰值因数) = 52.9 dB - 20·log10(峰值因"
            "数)。FP8 保持在 31 到 32 dB。两者在哪里相交？",
        ),
        Text(
            '52.9 - 31.5 = 21.4 dB is a factor of about 12: `"int8"` if absmax / rms is below 12, else `"fp8"`.',
            '52.9 - 31.5 = 21.4 dB，约合 12 倍：absmax / rms 小于 12 返回 `"int8"`，否则返回 `"fp8"`。',
        ),
    ),
    reference=answers_fp8.predict_winner,
    misconceptions=(
        Misconception(
            "FP8 always wins",
            answers_fp8.float_always,
            Text(
                '"Floating point is better" is what everybody expects. For a normal distribution int8 is ahead by 8 '
                "to 11 dB: it has 255 levels where the values are, FP8 spends most of its codes on tiny numbers.",
                "“浮点当然更好”，人人都这么想。对正态分布，int8 却领先 8 到 11 dB：它的 255 级都用在有数值的地方，FP8 "
                "的大部分编码花在了极小的数上。",
            ),
        ),
        Misconception(
            "int8 always wins",
            answers_fp8.int_always,
            Text(
                "255 even levels against three bits of mantissa: int8 looks better. One value at 40 among normal ones "
                "is enough: the step grows to 0.3, and all the others share some 25 of the 255 codes.",
                "255 个均匀的级，对 3 位尾数：看起来 int8 更好。可正态数据里只要混进一个 40，步长就变成 0.3，其余的"
                "数只能挤在 25 个左右的编码里。",
            ),
        ),
        Misconception(
            "turned round",
            answers_fp8.turned_round,
            Text(
                "Exactly the wrong way round: a *large* crest factor hurts the uniform grid.",
                "正好反了：峰值因数*大*，吃亏的是均匀网格。",
            ),
        ),
        Misconception(
            "by the largest value",
            answers_fp8.by_largest_value,
            Text(
                "You look at how large absmax is. But the scale takes care of that: the same data in other units must "
                "have the same winner. Only ratios can decide.",
                "你看的是 absmax 有多大。可那是尺度的事：同一份数据换个单位，赢家不该变。能决定胜负的只有比值。",
            ),
        ),
        Misconception(
            "standard deviation for rms",
            answers_fp8.by_standard_deviation,
            Text(
                "`x.std()` measures the spread about the *mean*; the grid is centred on zero. They agree when the mean is 0. Values "
                "between 16 and 24 have an rms of 20 and use the top of the int8 grid, though their standard deviation is 1. Take "
                "`x.square().mean().sqrt()`.",
                "`x.std()` 量的是相对*均值*的离散程度，而网格以零为中心；均值为 0 时两者才相同。16 到 24 之间的数，rms 是 20，用的是 int8 网格的最上段，标准差却只有 1。"
                "应取 `x.square().mean().sqrt()`。",
            ),
        ),
        Misconception(
            "by how many lie near zero",
            answers_fp8.near_zero,
            Text(
                "You ask whether most values lie in the lower half. For a normal distribution they do (95 %), and "
                "int8 still wins clearly. It takes a tail twelve times the rms.",
                "你看的是大多数值是否在下半段。正态分布就是这样（约 95 %），int8 仍明显占优。要有十二倍 rms 那么长的尾"
                "巴才行。",
            ),
        ),
    ),
    variants=(answers_fp8.by_measuring,),
    show=show_data,
)


EXERCISES = (MEASURE, WINNER)
