"""The record of 10.3: the ragged tail."""

from __future__ import annotations

from fp8lab.course.exercise import Exercise
from fp8lab.course.lessons.l10_gpu import answers
from fp8lab.course.lessons.l10_gpu.driving import DRIVES
from fp8lab.course.lessons.l10_gpu.shown import by_group, named, only_interpreted
from fp8lab.course.text import Text

UNSEEN = only_interpreted(
    {
        "hidden after the load": Text(
            "The result is right, and the load went where nothing is yours: behind the row lies other data or no memory "
            "at all, and a GPU stops with an illegal access. `tl.where` comes too late for that; the mask belongs into `tl.load`.",
            "结果是对的，读取却越了界：行尾之后是别人的数据，甚至没有内存，GPU 会报非法访问而中止。`tl.where` 来得太晚，掩"
            "码要交给 `tl.load`。",
        ),
        "without other": Text(
            "The load has a mask and no `other=`. What the lanes that are off then hold is undefined: the interpreter "
            "says 0, a GPU whatever is in the register. This check puts large numbers there. Say `other=0.0`.",
            "读取有掩码，却没有 `other=`。无效 lane 里是什么就没有定义：解释器给 0，GPU 给寄存器里残留的任意值。这里的检查"
            "在其中填了很大的数。请写明 `other=0.0`。",
        ),
    }
)

RAGGED = Exercise(
    drive=DRIVES["10.3"],
    points=3,
    title=Text("The ragged tail is a mask", "不满的尾组就是一个掩码"),
    hints=(
        Text(
            "A block of lanes is a power of two, a group need not be, and the last group of a row may be short. Two "
            "conditions make a lane real.",
            "一块 lane 的个数必须是 2 的幂，组大小却不一定，而且一行的最后一组可能不满。一个 lane 要满足两个条件才算"
            "有效。",
        ),
        Text(
            "`lane < GROUP` keeps the neighbour out, `column < width` what lies behind the row. You need both, for the "
            "load and for the store.",
            "`lane < GROUP` 把邻组挡在外面，`column < width` 把行尾之后的东西挡在外面。读和写都要同时用这两个条件。",
        ),
        Text(
            "A masked load needs a value for the lanes that are off. It must not change absmax: "
            "`tl.load(..., mask=real, other=0.0)`.",
            "带掩码的读取要给无效 lane 一个值，而且它不能影响 absmax：`tl.load(..., mask=real, other=0.0)`。",
        ),
        Text(
            "`real = (lane < GROUP) & (column < width)`; "
            "`x = tl.load(x_ptr + row * row_stride + column, mask=real, other=0.0)`; "
            "`tl.store(codes_ptr + row * width + column, codes, mask=real)`.",
            "`real = (lane < GROUP) & (column < width)`；"
            "`x = tl.load(x_ptr + row * row_stride + column, mask=real, other=0.0)`；"
            "`tl.store(codes_ptr + row * width + column, codes, mask=real)`。",
        ),
    ),
    reference=answers.quantized,
    misconceptions=named(
        answers.ragged_as,
        {
            "no mask at all": Text(
                "No mask, neither for reading nor for writing, or one that is always on. What lies beside the group "
                "decides its scale, and the codes go over the next row. `lane < GROUP & column < width` without brackets "
                "is such a mask: `&` binds more tightly than `<`.",
                "读和写都没有掩码，或者掩码恒为真。分组旁边的内容决定了它的尺度，编码又盖到下一行上。不加括号的 "
                "`lane < GROUP & column < width` 就是这样的掩码：`&` 比 `<` 结合得更紧。",
            ),
            "end of the row alone": Text(
                "Your mask is `column < width` alone, for reading and for writing: the lanes behind the group take part "
                "in it. Python's `and` between two conditions does that, too: of blocks it keeps only the second one. "
                "Write `(lane < GROUP) & (column < width)`.",
                "读和写的掩码都只有 `column < width`：组后面的 lane 也参与进来了。用 Python 的 `and` 连接两个条件也会这样："
                "对一块值，它只留下后一个条件。应写 `(lane < GROUP) & (column < width)`。",
            ),
            "end of the group alone": Text(
                "Your mask stops at the end of the group alone, for reading and for writing: the short group goes on "
                "behind the end of its row, where `column` reaches `width`. With Python's `and` the second condition "
                "alone remains, so it comes out the same. Write `(lane < GROUP) & (column < width)`.",
                "读和写的掩码都只在组尾停下：不满的那组越过了行尾，也就是 `column` 到达 `width` 之处，还在继续读写。用 "
                "Python 的 `and` 时只有后一个条件有效，也会得到这个结果。应写 `(lane < GROUP) & (column < width)`。",
            ),
            "or for and": Text(
                "Your mask says “in the group *or* in the row”: `|` is true where one of them holds. A lane is real only "
                "where both do: `(lane < GROUP) & (column < width)`.",
                "你的掩码是“在组内*或*在行内”：`|` 只要有一个成立就为真。两个都成立，lane 才有效："
                "`(lane < GROUP) & (column < width)`。",
            ),
            "codes with the stride of x": Text(
                "Wrong stride: you store the codes as far apart as the rows of x. The codes have no gaps, their rows are "
                "`width` apart.",
                "步长错了：你按 x 的行距来存编码。编码没有空隙，行距是 `width`。",
            ),
            "load without a mask": Text(
                "The load has no mask: garbage behind the row, and the values of the neighbour group, enter your "
                "absmax. The group itself then shrinks to nothing.",
                "读取没有掩码：行尾之后的垃圾和邻组的值都混进了 absmax，这个分组自己反倒被压成了零。",
            ),
            "neighbour's values": Text(
                "Your mask knows the end of the row only. BLOCK is larger than GROUP, so the lanes behind the group read "
                "the beginning of the next one, and the scale is partly the neighbour's: `lane < GROUP`.",
                "你的掩码只管行尾。BLOCK 比 GROUP 大，组后面的 lane 读到了下一组的开头，尺度就掺进了邻组的值：还要 "
                "`lane < GROUP`。",
            ),
            "garbage behind the row": Text(
                "Your mask knows the end of the group only. The last group is short, and behind it lies whatever was in "
                "memory: `column < width`.",
                "你的掩码只管组尾。最后一组不满，它后面是内存里残留的任意内容：还要 `column < width`。",
            ),
            "one too many": Text(
                "`column <= width` lets one element too many in: column `width` is the first that does not exist. One "
                "is enough to ruin the scale of the tail.",
                "`column <= width` 多放进来一个元素：第 `width` 列是第一个不存在的列。一个就足以毁掉尾组的尺度。",
            ),
            "tail dropped": Text(
                "You treat the whole groups only; the tail never gets its codes. Whoever reads it gets what the buffer "
                "held before.",
                "你只处理了完整的分组，尾组一直没有编码。以后谁来读，读到的都是缓冲区里的旧内容。",
            ),
            "padded with ones": Text(
                "The lanes that are off hold 1.0 and enter absmax. In a group of small values the padding is the largest "
                "one. 0.0 never is.",
                "无效 lane 填的是 1.0，也参与了 absmax。在数值很小的分组里，填充反而成了最大值。填 0.0 就不会。",
            ),
            "store without a mask": Text(
                "The load is masked, the store is not: codes of lanes that do not exist are written behind the group. "
                "The next program may repair it or not; behind the last row nobody does.",
                "读有掩码，写却没有：不存在的 lane 也把编码写到了组后面。下一个程序也许会把它盖好，也许不会；最后一行之"
                "后则肯定没人管。",
            ),
            "store past the row": Text(
                "Your store stops at the end of the group, not of the row: the short group writes on, into the next "
                "row. Programs run in any order, so the damage comes and goes.",
                "你的写入只在组尾停下，没有在行尾停下：不满的那组继续往下写，写进了下一行。程序的执行次序不定，所以错误"
                "时有时无。",
            ),
            "store past the group": Text(
                "Your store stops at the end of the row, not of the group: each program writes over the beginning of the "
                "next group. Under the interpreter the next program repairs it; on a GPU nobody keeps that order. The "
                "check runs one program alone to see it: `lane < GROUP`.",
                "你的写入只在行尾停下，没有在组尾停下：每个程序都盖掉了下一组的开头。解释器里下一个程序会把它盖好，GPU 却不"
                "保证次序。检查时单独运行一个程序，就看得出来：还要 `lane < GROUP`。",
            ),
            "rows rounded up to whole groups": Text(
                "You store the rows of codes as if each were padded to whole groups. They are `width` apart; the padding "
                "exists in registers only.",
                "你存编码时，好像每一行都补齐成了整组。实际行距是 `width`；填充只存在于寄存器里。",
            ),
            **UNSEEN,
        },
    ),
    variants=(answers.ragged_as("otherwise"),),
    show=by_group,
)

EXERCISES = (RAGGED,)
