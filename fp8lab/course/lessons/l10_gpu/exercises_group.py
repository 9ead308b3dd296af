"""The records of 10.1 and 10.2: absmax, scale and codes."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise
from fp8lab.course.lessons.l10_gpu import answers
from fp8lab.course.lessons.l10_gpu.driving import DRIVES
from fp8lab.course.lessons.l10_gpu.shown import by_group, named, only_interpreted
from fp8lab.course.text import Text

ABSMAX = Exercise(
    drive=DRIVES["10.1"],
    points=2,
    title=Text("One program, one group: absmax", "一个程序，一个分组：absmax"),
    hints=(
        Text(
            "A kernel gets a pointer, not a tensor: it knows no shape and no strides. Which element does the group of "
            "this program begin with?",
            "内核拿到的是指针，不是张量：它不知道形状，也不知道步长。这个程序负责的分组从哪个元素开始？",
        ),
        Text(
            "Row `row` begins `row * row_stride` elements behind the pointer, its group `group` another "
            "`group * GROUP` further. Add `lane` and you have GROUP addresses at once.",
            "第 `row` 行从指针之后 `row * row_stride` 个元素处开始，其中第 `group` 组再往后 `group * GROUP` 个。加上 "
            "`lane`，一次就得到 GROUP 个地址。",
        ),
        Text(
            "`tl.max(tl.abs(x))` is one number. Its place in the result, which has no gaps, is "
            "`row * tl.num_programs(1) + group`.",
            "`tl.max(tl.abs(x))` 是一个数。结果数组没有空隙，它的位置是 `row * tl.num_programs(1) + group`。",
        ),
        Text(
            "`x = tl.load(x_ptr + row * row_stride + group * GROUP + lane)`, then "
            "`tl.store(absmax_ptr + row * tl.num_programs(1) + group, tl.max(tl.abs(x)))`.",
            "先 `x = tl.load(x_ptr + row * row_stride + group * GROUP + lane)`，再 "
            "`tl.store(absmax_ptr + row * tl.num_programs(1) + group, tl.max(tl.abs(x)))`。",
        ),
    ),
    reference=answers.absmax,
    misconceptions=named(
        answers.absmax_as,
        {
            "signed": Text(
                "You take the largest value, not the largest size. In a group whose extreme is negative, the scale "
                "comes out too small and that extreme saturates.",
                "你取的是最大值，而不是绝对值的最大值。极值为负的分组，尺度会偏小，那个极值随后就饱和了。",
            ),
            "rows without gaps": Text(
                "Wrong stride: you step from row to row by the width. These rows lie further apart, as rows of a view "
                "or of a cache page do, so from row 1 on you read what lies between them. `row_stride` says how far.",
                "步长错了：你按行宽跨到下一行。这里的行与行之间隔得更远（视图、缓存页都是如此），从第 1 行起你读到的是"
                "空隙里的东西。间隔由 `row_stride` 给出。",
            ),
            "a group is one element": Text(
                "You add `group` where `group * GROUP` belongs: group 1 begins one element after group 0, so the two "
                "overlap and the end of the row is never seen.",
                "该加 `group * GROUP` 的地方你加了 `group`：第 1 组只比第 0 组晚一个元素，两组几乎重叠，行尾永远读不到。",
            ),
            "first group only": Text(
                "Every program of a row reads group 0. `tl.program_id(1)` tells the programs apart; without it they do "
                "the same work several times.",
                "同一行的程序读的都是第 0 组。区分它们的是 `tl.program_id(1)`；漏了它，几个程序就在重复同样的工作。",
            ),
            "rows and groups swapped": Text(
                "You multiply the group by the row stride and the row by GROUP. The grid is (rows, groups): axis 0 is "
                "the row.",
                "你把分组号乘了行步长、把行号乘了 GROUP。网格是（行，分组）：第 0 轴是行。",
            ),
            "through float16": Text(
                "Your x passes through float16. 70000 is infinity there, and every absmax has lost bits that the scale "
                "needs. Compute in float32, whatever the data are stored in.",
                "你的 x 经过了 float16。70000 在那里是无穷大，每个 absmax 也都丢了尺度所需的比特。无论数据以什么格式存"
                "放，都要用 float32 计算。",
            ),
            "sum": Text(
                "You sum the sizes. A scale from the sum, or from the mean, lets no value reach 448 or lets many pass "
                "it; what the format must hold is the largest one.",
                "你对绝对值求了和。由总和或均值得到的尺度，要么没有值能到 448，要么有很多值超过它；格式必须装下的是最"
                "大的那个。",
            ),
            "one result per row": Text(
                "All groups of a row store to the same address, and the last one stays. On a GPU nobody can say which "
                "one is last.",
                "同一行的各个分组都写到同一个地址，只留下最后一个。而在 GPU 上，谁最后写是说不准的。",
            ),
            "results without a row stride": Text(
                "You store at `row + group`: group 1 of row 0 and group 0 of row 1 share an address. A row of results "
                "is as long as it has groups.",
                "你存到 `row + group`：第 0 行第 1 组与第 1 行第 0 组用了同一个地址。结果的一行有多少分组，就有多长。",
            ),
            "results stand the other way": Text(
                "Your result is transposed: [groups, rows]. The next kernel reads [rows, groups] and finds the absmax "
                "of a neighbour.",
                "你的结果是转置的：[分组, 行]。下一个内核按 [行, 分组] 去读，拿到的是邻居的 absmax。",
            ),
            "results with the stride of x": Text(
                "Wrong stride: from row 1 on you store behind the end of the results. A row of results is as long as it "
                "has groups, `tl.num_programs(1)`. `row_stride` is the stride of x, and GROUP the length of a group.",
                "步长错了：从第 1 行起，你就写到了结果数组之外。结果的一行有多少分组就有多长，即 `tl.num_programs(1)`。"
                "`row_stride` 是 x 的步长，GROUP 则是一个分组的长度。",
            ),
            "one result per row, with the stride of x": Text(
                "You store at `row * row_stride`: the stride is that of x, and the group is missing, so all groups of a "
                "row share one address. Results stand at `row * tl.num_programs(1) + group`.",
                "你存到 `row * row_stride`：步长用的是 x 的，又漏了分组，同一行的各组写在同一处。结果的位置是 "
                "`row * tl.num_programs(1) + group`。",
            ),
        },
    ),
    variants=(answers.absmax_as("otherwise"),),
    show=by_group,
)

PLAIN_DIVISION = only_interpreted(
    {
        "plain division": Text(
            "You divide with `/`. A GPU makes an approximate division of it, one or two units in the last place off, and "
            "the last place decides ties. The interpreter divides exactly; this check moves its quotient by one unit, "
            "as a card may. `divide` is correctly rounded.",
            "你用了 `/`。在 GPU 上它编译成近似除法，末位会差一两个单位，而平局归谁就取决于末位。解释器的除法是精确的；这"
            "里的检查把商挪动一个末位单位，就像显卡可能做的那样。`divide` 才是正确舍入的。",
        ),
        "scale by plain division": Text(
            "`absmax / 448.0` is an approximate division on a GPU: the stored scale may be off in its last place, and "
            "byte for byte equality is lost (this check moves such a quotient by one unit). `divide(absmax, 448.0)`.",
            "`absmax / 448.0` 在 GPU 上是近似除法：存下的尺度末位可能有偏差，也就不再逐字节相等（这里的检查会把这样的商"
            "挪动一个末位单位）。应当用 `divide(absmax, 448.0)`。",
        ),
        "codes by plain division": Text(
            "`x / scale` is an approximate division on a GPU: what was a tie is one no more, and some codes are one step "
            "off (this check moves such a quotient by one unit in the last place). `divide(x, scale)`.",
            "`x / scale` 在 GPU 上是近似除法：原本的平局不再是平局，有些编码就差了一步（这里的检查会把这样的商挪动一个末"
            "位单位）。应当用 `divide(x, scale)`。",
        ),
    }
)

CODES = Exercise(
    drive=DRIVES["10.2"],
    points=3,
    title=Text("Scale, cast, store", "算尺度、转换、写回"),
    hints=(
        Text(
            "As in lesson 03: the scale is what absmax is divided by to reach 448. Everything stays in registers; only "
            "codes and scales go back to memory.",
            "与第三课相同：尺度要让 absmax 除以它恰好等于 448。一切都留在寄存器里，写回内存的只有编码和尺度。",
        ),
        Text(
            "A group of zeros has absmax 0, and 0 / 0 is NaN. Give it the scale 1: "
            "`tl.where(absmax == 0.0, 1.0, ...)`.",
            "全零分组的 absmax 是 0，而 0 / 0 是 NaN。给它尺度 1：`tl.where(absmax == 0.0, 1.0, ...)`。",
        ),
        Text(
            "`divide(x, scale)` and `to_code(...)` are given. The codes lie without gaps, so their rows are "
            "`groups * GROUP` apart, not `row_stride`.",
            "`divide(x, scale)` 与 `to_code(...)` 都已给出。编码之间没有空隙，所以行距是 `groups * GROUP`，而不是 "
            "`row_stride`。",
        ),
        Text(
            "`scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 448.0))`; store `to_code(divide(x, scale))` at "
            "`codes_ptr + (row * groups + group) * GROUP + lane`, and `scale` at `scales_ptr + row * groups + group`.",
            "`scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 448.0))`；把 `to_code(divide(x, scale))` 存到 "
            "`codes_ptr + (row * groups + group) * GROUP + lane`，把 `scale` 存到 "
            "`scales_ptr + row * groups + group`。",
        ),
    ),
    reference=answers.quantized,
    misconceptions=named(
        answers.quantize_as,
        {
            "scale inverted": Text(
                "Your scale is 448 / absmax and you multiply by it. The codes are nearly right, but whoever reads them "
                "multiplies by the stored scale: in this course a stored scale gives the value back.",
                "你的尺度是 448 / absmax，然后相乘。编码几乎都对，但读的一方会乘上存下的尺度：本课程约定，乘上存下的尺"
                "度就还原数值。",
            ),
            "inverse, then divided": Text(
                "Your scale is 448 / absmax, and you divide by it: x is made smaller the smaller its group is. The scale is "
                "`divide(absmax, 448.0)`; dividing by it takes absmax to 448.",
                "你的尺度是 448 / absmax，接着却除以它：分组的数值越小，x 反而被缩得越小。尺度应为 `divide(absmax, 448.0)`，"
                "除以它，absmax 正好变成 448。",
            ),
            "absmax for scale": Text(
                "Your scale is absmax itself: the largest code is then 1.0, and everything between 1 and 448, more than "
                "half of the codes, lies idle. Divide absmax by 448.",
                "你直接拿 absmax 当尺度：最大的编码只到 1.0，从 1 到 448 的编码占了一半以上，全都闲置。要把 absmax 除以 448。",
            ),
            "scale 0 for zeros": Text(
                "A group of zeros gets the scale 0 in yours. Its values come back right, but in this course its scale is 1: "
                "whoever divides by a stored scale must not meet 0. And what was -0.0 keeps its sign.",
                "全零分组在你这里尺度为 0。数值还原出来没有错，但本课程规定它的尺度是 1：谁要是拿存下的尺度去除，不能碰上 0。"
                "另外，-0.0 的编码要保留符号。",
            ),
            "codes without their group": Text(
                "The group is missing from the address of the codes: all groups of a row are stored over one another. Theirs "
                "is `(row * groups + group) * GROUP + lane`.",
                "编码的地址里漏了分组：同一行的各组都写在同一处，互相覆盖。应当是 `(row * groups + group) * GROUP + lane`。",
            ),
            "multiplied": Text(
                "You multiply by the scale where you must divide. Every value shrinks twice, and most codes become "
                "subnormal or zero.",
                "该除以尺度的地方你用了乘法。每个值都被缩小了两次，大部分编码成了次正规数或零。",
            ),
            "reciprocal": Text(
                "You multiply by 1 / scale. The reciprocal has been rounded, so what was a tie is one no more, and some "
                "codes are one step off. Faster, and no longer equal to the reference byte for byte.",
                "你乘的是 1 / scale。倒数已经舍入过一次，原本的平局不再是平局，有些编码就差了一步。快了一点，却不再与参"
                "考实现逐字节一致。",
            ),
            "a group of zeros": Text(
                "A group of zeros gets the scale 0 in yours, and 0 / 0 is NaN. Padding and empty slots are full of "
                "zeros: this happens on the first day (vllm#26174).",
                "全零分组在你这里得到尺度 0，而 0 / 0 是 NaN。填充和空槽位里全是零，上线第一天就会碰到（vllm#26174）。",
            ),
            "eps added": Text(
                "You add eps to absmax. It changes the scale of small groups and is lost in large ones; what you want "
                "is a case of its own for zero.",
                "你给 absmax 加了 eps。它改变小分组的尺度，在大分组里又毫无作用；你需要的只是单独处理零。",
            ),
            "240": Text(
                "You scale to 240, the end of E4M3FNUZ. E4M3FN goes to 448: nearly half of the range lies idle.",
                "你按 240 缩放，那是 E4M3FNUZ 的最大值。E4M3FN 能到 448：近一半的范围闲置了。",
            ),
            "float16 scale": Text(
                "Your scale passes through float16: eleven bits, and nothing above 65504. Compute and store it in "
                "float32, or round it first and quantize with the rounded one.",
                "你的尺度经过了 float16：只有十一位精度，上限 65504。要用 float32 计算和存放；若要压缩，就先舍入尺度，"
                "再用舍入后的尺度量化。",
            ),
            "not scaled": Text(
                "You store a scale and do not use it: the codes are those of x itself. Reading multiplies by the scale "
                "all the same.",
                "你存了尺度却没有用它：编码就是 x 本身的编码。而读的时候照样会乘上尺度。",
            ),
            "division in float16": Text(
                "You divide in float16. The quotient is rounded to eleven bits, then to four: double rounding, and "
                "every tie it makes goes astray. float32 before the cast.",
                "你用 float16 做除法。商先舍入到十一位，再舍入到四位：双重舍入，由此产生的平局都会走错。转换之前必须是"
                " float32。",
            ),
            "integer cast": Text(
                "You cast the number to an integer. That is INT8 in FP8's clothes: 200 becomes the byte 200, which "
                "reads as -4, and 0.4 becomes 0. `to_code` makes the FP8 byte.",
                "你把数转成了整数。这是披着 FP8 外衣的 INT8：200 成了字节 200，读出来是 -4；0.4 则成了 0。生成 FP8 字节"
                "要用 `to_code`。",
            ),
            "codes with the stride of x": Text(
                "Wrong stride: you store the codes as far apart as the rows of x. The codes have no gaps, so from row 1 "
                "on they lie in the wrong place, and the last ones beyond the end.",
                "步长错了：你按 x 的行距来存编码。编码没有空隙，所以从第 1 行起位置全错，最后几个还写到了数组之外。",
            ),
            "one scale per row": Text(
                "Every group stores its scale at `row`, over the scale of its neighbour. The codes of the others are "
                "then read with a scale that is not theirs.",
                "每个分组都把尺度存到 `row`，盖掉了邻居的尺度。其余分组的编码随后会按别人的尺度去读。",
            ),
            "scale of the neighbour": Text(
                "The scales are right and each stands at its neighbour's place. Nothing crashes; every value comes back "
                "wrong by the ratio of two scales.",
                "尺度都算对了，却各自放在邻居的位置上。不会崩溃，只是每个值还原出来都差了两个尺度之比。",
            ),
            **PLAIN_DIVISION,
        },
    ),
    variants=(answers.quantize_as("otherwise"),),
    show=by_group,
)

EXERCISES = (ABSMAX, CODES)
