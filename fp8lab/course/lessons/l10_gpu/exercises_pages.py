"""The records of 10.4 and 10.5: dequantize, and write straight into the pages of a cache."""

from __future__ import annotations

from fp8lab.course.compare import Tolerance
from fp8lab.course.exercise import Exercise
from fp8lab.course.lessons.l10_gpu import answers
from fp8lab.course.lessons.l10_gpu.driving import DRIVES
from fp8lab.course.lessons.l10_gpu.shown import by_code, by_slot, named, only_interpreted
from fp8lab.course.text import Text

UNSEEN = only_interpreted(
    {
        "load without a mask": Text(
            "The result is right, and a load has no mask: in the last block of the last row it reads codes or scales that "
            "do not exist. A GPU stops there with an illegal access, or not, depending on what lies behind.",
            "结果是对的，却有一次读取没有掩码：最后一行的最后一块会去读并不存在的编码或尺度。GPU 会不会因此报非法访问而中"
            "止，全看后面是什么。",
        ),
    }
)

DEQUANTIZE = Exercise(
    drive=DRIVES["10.4"],
    points=2,
    title=Text("Dequantize", "还原（反量化）"),
    hints=(
        Text(
            "This program takes BLOCK columns, whatever groups they belong to. So the scale is a vector here: one "
            "address per lane.",
            "这个程序处理 BLOCK 列，不管它们属于哪些分组。所以这里的尺度是一个向量：每个 lane 各有一个地址。",
        ),
        Text(
            "Column c belongs to group `c // GROUP` of its row, and a row has `groups` scales.",
            "第 c 列属于本行的第 `c // GROUP` 组，而一行有 `groups` 个尺度。",
        ),
        Text(
            "Three masked accesses with one mask: codes, scales, result. `to_value(codes)` is float32; multiply.",
            "三次访问共用一个掩码：编码、尺度、结果。`to_value(codes)` 是 float32，相乘即可。",
        ),
        Text(
            "`scale = tl.load(scales_ptr + row * groups + column // GROUP, mask=real, other=1.0)`, and the store is "
            "`tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)`.",
            "`scale = tl.load(scales_ptr + row * groups + column // GROUP, mask=real, other=1.0)`，写回是 "
            "`tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)`。",
        ),
    ),
    reference=answers.dequantized,
    misconceptions=named(
        answers.dequantize_as,
        {
            "one scale per program": Text(
                "You load one scale, that of the first column, for the whole block. A block spans several groups: from "
                "the first border on you read with the scale of the neighbour group.",
                "你只读了一个尺度，即第一列所属组的尺度，整块都用它。一块跨了几个分组：从第一条组界起，用的就是邻组的尺"
                "度。",
            ),
            "program for group": Text(
                "You take the number of the program for the number of the group. That holds only where BLOCK equals "
                "GROUP; ask each column for its group: `column // GROUP`.",
                "你把程序号当成了分组号。只有 BLOCK 等于 GROUP 时才成立；应当问每一列属于哪一组：`column // GROUP`。",
            ),
            "remainder": Text(
                "`column % GROUP` is the place inside the group; the number of the group is `column // GROUP`.",
                "`column % GROUP` 是组内的位置；分组号是 `column // GROUP`。两者不要混淆。",
            ),
            "scales of the first row": Text(
                "Wrong stride: every row reads the scales of row 0. A row of scales is `groups` long.",
                "步长错了：每一行读的都是第 0 行的尺度。一行尺度的长度是 `groups`。",
            ),
            "whole groups only": Text(
                "You take `width // GROUP` for the length of a row of scales. The tail has a scale as well; from row 1 "
                "on everything is off by one or more groups.",
                "你把一行尺度的长度当成了 `width // GROUP`。尾组也有自己的尺度；从第 1 行起全都错开了一组或更多。",
            ),
            "scale of the neighbour": Text(
                "Each group is multiplied by the scale of the next one. Nothing crashes, and the values are wrong by the "
                "ratio of two scales.",
                "每个分组都乘上了下一组的尺度。不会崩溃，只是数值差了两个尺度之比。",
            ),
            "byte as a number": Text(
                "You convert the byte to a number: 0x38 becomes 56. It is a code, and stands for 1.0: `to_value`.",
                "你把字节直接当成了数：0x38 成了 56。它是编码，代表 1.0：要用 `to_value`。",
            ),
            "signed byte": Text(
                "You read the byte as int8. That is the INT8 of lesson 03; an FP8 code has a sign bit, an exponent and "
                "a mantissa: `to_value`.",
                "你把字节当成 int8 来读。那是第三课的 INT8；FP8 编码有符号位、指数和尾数：要用 `to_value`。",
            ),
            "divided": Text(
                "You divide by the scale. The stored scale is absmax / 448, so codes are *multiplied* by it on the way "
                "back.",
                "你除以了尺度。存下的尺度是 absmax / 448，所以还原时编码要“乘以”它。",
            ),
            "no scale": Text(
                "The codes are decoded and not scaled: every group ends at 448. Dropping the scale on a fast path is a "
                "public bug more than once (vllm#42580, flashinfer#4979).",
                "编码解了，却没有乘尺度：每个分组的最大值都成了 448。快路径上漏掉尺度的公开 bug 不止一例（vllm#42580、"
                "flashinfer#4979）。",
            ),
            "product in float16": Text(
                "The scale and the product pass through float16: eleven bits, and small scales become subnormal. "
                "Multiply in float32 and round once, to what is stored.",
                "尺度和乘积都经过了 float16：只有十一位，小的尺度还会变成次正规数。应当用 float32 相乘，写回时只舍入一"
                "次。",
            ),
            "store without a mask": Text(
                "Your store has no mask. The last block of a row goes on into the next row, and after the last row into "
                "memory that is not yours.",
                "写回没有掩码。一行的最后一块会写进下一行；最后一行之后，就写进了不属于你的内存。",
            ),
            **UNSEEN,
        },
    ),
    variants=(answers.dequantize_as("otherwise"),),
    tolerance=Tolerance(signed_zero=True),
    show=by_code,
)

PAGES = Exercise(
    drive=DRIVES["10.5"],
    points=4,
    title=Text("Straight into the paged cache", "直接写进分页缓存"),
    hints=(
        Text(
            "A slot is a number over the whole cache. Take it apart: which block, and which place in it?",
            "槽位是整个缓存里的统一编号。把它拆开：在哪一块，块内第几个位置？",
        ),
        Text(
            "`slot // block_size` is the block, `slot % block_size` the place. Each has its own stride, because blocks "
            "of K and V may lie in turn and a place may carry a gap.",
            "`slot // block_size` 是块号，`slot % block_size` 是块内位置。两者各有步长，因为 K 和 V 的块可能交替存放，位"
            "置之间也可能有空隙。",
        ),
        Text(
            "Inside a place the heads follow each other: code `head * width + column`, scale `head * groups + group`. "
            "A negative slot is a token that is not kept: put `slot >= 0` into both masks.",
            "一个位置之内各个头首尾相接：编码在 `head * width + column`，尺度在 `head * groups + group`。负槽位表示不保"
            "留这个 token：两个掩码里都要有 `slot >= 0`。",
        ),
        Text(
            "`target = block * code_block_stride + place * code_place_stride + head * width + column`, stored with "
            "`mask=real & (slot >= 0)`; the scale at `block * scale_block_stride + place * scale_place_stride + "
            "head * groups + group` with `mask=slot >= 0`.",
            "`target = block * code_block_stride + place * code_place_stride + head * width + column`，写入时用 "
            "`mask=real & (slot >= 0)`；尺度存到 `block * scale_block_stride + place * scale_place_stride + "
            "head * groups + group`，用 `mask=slot >= 0`。",
        ),
    ),
    reference=answers.written,
    misconceptions=named(
        answers.write_as,
        {
            "negative slots written": Text(
                "You write tokens whose slot is negative. -1 is the mark for padding; what you hit is the memory before "
                "the cache or the end of another page.",
                "槽位为负的 token 你也写了。-1 是填充的标记；这样写会碰到缓存之前的内存，或者别的页的末尾。",
            ),
            "negative slots to slot 0": Text(
                "You clamp negative slots to 0: padding overwrites the first token of the first block, which belongs to "
                "somebody. Skip them.",
                "你把负槽位钳位到 0：填充会盖掉第一块的第一个 token，而那是别人的数据。应当跳过。",
            ),
            "slot 0 skipped": Text(
                "You skip slot 0. It is a slot like any other; only negative ones mean “not kept”: `slot >= 0`.",
                "你跳过了槽位 0。它是普通槽位；只有负数才表示“不保留”：`slot >= 0`。",
            ),
            "scale of a skipped token": Text(
                "The codes of a skipped token are masked, its scale is not. One foreign scale, and a whole group of "
                "another token is read wrongly.",
                "被跳过的 token，编码屏蔽了，尺度却没有屏蔽。一个外来的尺度，就足以让别的 token 的一整组读错。",
            ),
            "mapping ignored": Text(
                "You write token t to slot t. That works with a fresh cache and a single request; the slot mapping says "
                "where each token belongs.",
                "你把第 t 个 token 写到了槽位 t。缓存是空的、请求只有一个时碰巧能用；每个 token 该去哪里，要看槽位映射。",
            ),
            "block and place swapped": Text(
                "You took the remainder for the block and the quotient for the place. `slot // block_size` is the "
                "block.",
                "你把余数当成了块号，把商当成了块内位置。块号是 `slot // block_size`。",
            ),
            "pages follow each other": Text(
                "Wrong stride: you step by places through the whole cache, as if one block began where the last one "
                "ends. Here the V block lies between two K blocks: `code_block_stride` says so.",
                "步长错了：你一路按位置的步长数下去，好像上一块结束就是下一块。这里两个 K 块之间隔着 V 块：`code_block_stride`"
                " 说明了这一点。",
            ),
            "scale blocks follow each other": Text(
                "The codes are right. For the scales you step by places through the whole cache, `slot * "
                "scale_place_stride`, as if one block of scales began where the last one ends. It does not: "
                "`block * scale_block_stride + place * scale_place_stride`.",
                "编码写对了。尺度却是一路按位置的步长数下去的（`slot * scale_place_stride`），好像上一块尺度结束就是下一块。"
                "并非如此：应为 `block * scale_block_stride + place * scale_place_stride`。",
            ),
            "no strides": Text(
                "You count as if the cache had no gaps: slot × heads × width. Neither the places nor the blocks follow each "
                "other like that; the four strides say how far they are apart.",
                "你按没有空隙的缓存来算：槽位 × 头数 × width。位置之间、块之间都不是这样紧挨着的；相隔多远，由四个步长给出。",
            ),
            "strides of the codes for the scales": Text(
                "You use the strides of the codes for the scales. The scales are another tensor of other sizes, with "
                "strides of its own.",
                "写尺度时你用了编码的步长。尺度是另一个张量，大小不同，步长也不同。",
            ),
            "heads on one another": Text(
                "All heads write to the same place: `head` is missing from the address. The last one stays, and all "
                "heads read it.",
                "所有的头都写到同一处：地址里漏了 `head`。只留下最后一个，而所有的头都去读它。",
            ),
            "group forgotten": Text(
                "The group is missing from the addresses: every group of a head begins at the head's first column.",
                "地址里漏了分组：一个头的各个分组都从它的第一列开始写，彼此覆盖。",
            ),
            "scales by heads alone": Text(
                "The scale goes to `head`, not to `head * groups + group`: one scale per head survives, and it is the "
                "neighbour group's for the others.",
                "尺度存到了 `head`，而不是 `head * groups + group`：每个头只留下一个尺度，对其他分组来说那是邻组的尺度。",
            ),
            "scales by groups alone": Text(
                "The scale goes to `group`, not to `head * groups + group`: all heads store their scales over one "
                "another, and the last head's remain.",
                "尺度存到了 `group`，而不是 `head * groups + group`：所有的头把尺度写在同一处，只留下最后一个头的。",
            ),
            "neighbour group written": Text(
                "The mask of your store stops at the end of the head, not of the group: each program writes over the "
                "beginning of the next group. Under the interpreter the next program repairs it, a GPU keeps no order. "
                "The check runs one program alone to see it: `real`, not `column < width`.",
                "写入的掩码只在头的末尾停下，没有在组尾停下：每个程序都盖掉了下一组的开头。解释器里下一个程序会把它盖好，"
                "GPU 却不保证次序。检查时单独运行一个程序，就看得出来：要用 `real`，而不只是 `column < width`。",
            ),
            "only the slot asked": Text(
                "The codes are stored wherever `slot >= 0`, lanes that are not `real` included. Python's `and` does that, "
                "too: `real and slot >= 0` keeps only its second half for a block. Write `real & (slot >= 0)`.",
                "只要 `slot >= 0` 你就写编码，不是 `real` 的 lane 也写了。用 Python 的 `and` 也会这样：对一块值，"
                "`real and slot >= 0` 只留下后一半。应写 `real & (slot >= 0)`。",
            ),
            "tail of the head written": Text(
                "The mask of your store stops at the end of the group only. The last group of a head is short, so it "
                "writes into the next head, and after the last one into the next place.",
                "写入的掩码只在组尾停下。每个头的最后一组不满，于是写进了下一个头；最后一个头之后，就写进了下一个位置。",
            ),
        },
    ),
    variants=(answers.write_as("otherwise"),),
    show=by_slot,
)

EXERCISES = (DEQUANTIZE, PAGES)
