"""The record of exercise 1.7: the auditor."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise, Misconception
from fp8lab.course.lessons.l01_decode import answers_audit as wrong
from fp8lab.course.lessons.l01_decode.driving import DRIVES, PROPERTIES
from fp8lab.course.text import Text


def show_audit(inputs, array, index):
    if array != "violated" or len(index) < 2:
        return array
    return f'`"{PROPERTIES[index[1]]}" in audit(decoder)`, decoder: {inputs["labels"][index[0]]}'


AUDIT = Exercise(
    drive=DRIVES["1.7"],
    points=4,
    title=Text("The auditor", "审计器"),
    hints=(
        Text(
            "One property, one line, in the order of the table. NaN is the trap in three of them: every comparison with it is "
            "False, so `not (a < b)` and `a >= b` are different questions.",
            "一条性质写一行，按表中的顺序。其中三条都有 NaN 这个陷阱：和它的任何比较都是 False，所以 `not (a < b)` 和 `a >= b` 不是同一个问题。",
        ),
        Text(
            '"sign": pair `value[:128]` with `value[128:]`, leave out pairs with a NaN, and ask two things: equal sizes (`abs`), and '
            "different sign bits (`math.copysign(1, x)`). `p == -n` cannot tell 0.0 from -0.0.",
            '"sign"：把 `value[:128]` 和 `value[128:]` 配对，去掉含 NaN 的对，再问两件事：大小相等（`abs`）、符号位不同（`math.copysign(1, x)`）。`p == -n` 分不清 0.0 和 -0.0。',
        ),
        Text(
            '"order" fails if any number is less than *or equal to* the one before it: `any(after <= before for before, after in '
            'zip(value[:0x7E], value[1:0x7F]))`. "nan" is about all 256 codes, not only about the two that should be NaN.',
            '"order"：只要有一个数小于*或等于*它前面的数就算违反：`any(after <= before for before, after in zip(value[:0x7E], value[1:0x7F]))`。"nan" 要看全部 256 个编码，不只是那两个。',
        ),
        Text(
            '"junction": `value[7] - value[6] == value[8] - value[7] == value[9] - value[8]`. "boundary": the list of '
            "`value[code]` for 0x00, 0x01, 0x07, 0x08, 0x7E equals `[0, 2**-9, 0.875 * 2**-6, 2**-6, 448]`, exactly.",
            '"junction"：`value[7] - value[6] == value[8] - value[7] == value[9] - value[8]`。"boundary"：0x00、0x01、0x07、0x08、0x7E 的 `value[code]` 列表与 `[0, 2**-9, 0.875 * 2**-6, 2**-6, 448]` 完全相等。',
        ),
    ),
    reference=wrong.audit,
    misconceptions=(
        Misconception(
            "zeros compared with ==",
            wrong.audit_equal_zeros,
            Text(
                "The sign test is `p == -n`, and 0.0 == -0.0 is True: a decoder that loses the sign of 0x80 goes through. "
                "`math.copysign(1, x)` sees the bit.",
                "符号的判断用了 `p == -n`，而 0.0 == -0.0 为 True：丢掉 0x80 符号的解码器就过关了。`math.copysign(1, x)` 能看到那一位。",
            ),
        ),
        Misconception(
            "NaN has no sign partner",
            wrong.audit_nan_pairs,
            Text(
                "The pair 0x7F, 0xFF is NaN on both sides, and NaN equals nothing: the right decoder is accused. Leave pairs with a NaN "
                'out of "sign"; they are the business of "nan".',
                '0x7F 和 0xFF 这一对两边都是 NaN，而 NaN 不等于任何东西：正确的解码器也被冤枉了。"sign" 要跳过含 NaN 的对，它们归 "nan" 管。',
            ),
        ),
        Misconception(
            "not less is not greater or equal",
            wrong.audit_not_less,
            Text(
                "`all(low < high)` is False as soon as one of the two is NaN, so a misplaced NaN is also reported as an order "
                "fault. Ask for the violation itself: `any(high <= low)`.",
                "`all(low < high)` 只要有一边是 NaN 就为 False，于是放错位置的 NaN 还会被报成次序错误。应直接问有没有违反：`any(high <= low)`。",
            ),
        ),
        Misconception(
            "equal neighbours pass",
            wrong.audit_not_strict,
            Text(
                "Two codes with one value are allowed through, so a decoder that clamps its top binade to 448 keeps its order. "
                "Strictly increasing means `<=` is a violation too.",
                "放过了“两个编码同一个值”，于是把最高区间全截成 448 的解码器也算有序。严格递增意味着 `<=` 也是违反。",
            ),
        ),
        Misconception(
            "order runs on to 0x7F",
            wrong.audit_order_too_far,
            Text(
                "Your order goes on to 0x7F. With the right decoder nobody notices, since a comparison with NaN is False; but one that "
                'turns 0x7F into 448.0 is accused of disorder too. Order ends at 0x7E; what 0x7F is, is the business of "nan".',
                "你的次序一直查到了 0x7F。对正确的解码器看不出来，因为和 NaN 的比较是 False；可如果解码器把 0x7F 变成 448.0，它就多背了一条次序错误。"
                '次序到 0x7E 为止；0x7F 是什么，归 "nan" 管。',
            ),
        ),
        Misconception(
            "compared with NaN",
            wrong.audit_equals_nan,
            Text(
                "`x == math.nan` is False for every x, NaN included, so even the right decoder is accused. Use `math.isnan(x)`.",
                "`x == math.nan` 对任何 x 都是 False，包括 NaN 自己，所以正确的解码器也被冤枉。请用 `math.isnan(x)`。",
            ),
        ),
        Misconception(
            "only the two codes are asked",
            wrong.audit_two_codes,
            Text(
                "0x7F and 0xFF are NaN, but nobody asked whether others are as well. The IEEE-like decoder has 14 and goes through. "
                "Collect all codes that are NaN and compare the whole list.",
                "0x7F 和 0xFF 是 NaN，但没有问别的编码是不是也是 NaN。类 IEEE 的解码器有 14 个 NaN，照样过关。收集所有为 NaN 的编码，比较整个列表。",
            ),
        ),
        Misconception(
            "one NaN",
            wrong.audit_one_nan,
            Text(
                "0xFF is NaN as well in E4M3FN, so the right decoder is accused.",
                "E4M3FN 里 0xFF 也是 NaN，于是正确的解码器被冤枉了。",
            ),
        ),
        Misconception(
            "the largest value is 240",
            wrong.audit_max_240,
            Text(
                "The boundary table says 240, the value of another E4M3. The OCP text says S.1111.110 = 448.",
                "边界表里写的是 240，那是另一种 E4M3 的值。OCP 原文写的是 S.1111.110 = 448。",
            ),
        ),
        Misconception(
            "judged by its own table",
            wrong.audit_own_table,
            Text(
                "The boundary is compared with what the decoder itself says is its largest value. A decoder with bias 8 agrees with "
                "itself perfectly. The yardstick must come from somewhere else: type the five numbers from the OCP text.",
                "边界是和解码器自己的最大值比的。偏置为 8 的解码器和自己当然完全一致。尺子必须来自别处：照 OCP 原文敲入那五个数。",
            ),
        ),
        Misconception(
            "only the largest value",
            wrong.audit_only_largest,
            Text(
                "448 is right and the small end is not looked at: a decoder that flushes the subnormals to zero has a perfect 448.",
                "448 是对的，但没看小的那一端：把次正规数清零的解码器，448 也完全正确。",
            ),
        ),
        Misconception(
            "junction by one value",
            wrong.audit_absolute_junction,
            Text(
                '0x08 = 2^-6 says nothing about what lies before it; that value is the business of "boundary". The junction is '
                "about steps: 0x06 to 0x07, 0x07 to 0x08, 0x08 to 0x09 must be equal.",
                '0x08 = 2^-6 说明不了它前面的情况，那个值归 "boundary" 管。衔接处看的是步长：0x06 到 0x07、0x07 到 0x08、0x08 到 0x09 必须相等。',
            ),
        ),
        Misconception(
            "close enough",
            wrong.audit_close_enough,
            Text(
                "A tolerance of 0.01 is five times the smallest step of the format: most of the subnormals fit into it. Every value "
                "of the format is exact in a float: compare with ==.",
                "0.01 的容差是最小步长的五倍，大部分次正规数都落在里面。这个格式的每个值在 float 里都是精确的：用 == 比较。",
            ),
        ),
        Misconception(
            "stops at the first",
            wrong.audit_first_only,
            Text(
                "Only one violation is reported. A report that stops at the first fault costs its reader one round per fault.",
                "只报告了一条违反。见到第一个错就停，读报告的人每个错都要多跑一轮。",
            ),
        ),
        Misconception(
            "names what holds",
            wrong.audit_names_what_holds,
            Text(
                "The set holds the properties that are kept; asked for are those that are violated. For the right decoder it is empty.",
                "集合里放的是成立的性质，而要的是被违反的。对正确的解码器，它是空集。",
            ),
        ),
    ),
    variants=(wrong.audit_by_arrays, wrong.audit_by_text),
    show=show_audit,
)
