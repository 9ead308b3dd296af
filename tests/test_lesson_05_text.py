"""Lesson 05: what its text says in numbers, and its pictures, held against measurements with fp8lab."""

from __future__ import annotations

import math
import re

import pytest
import torch
from learner import lesson_text

from fp8lab.explore import granularity_facts as facts
from fp8lab.explore import granularity_pictures
from fp8lab.explore.outlier_map.data import outlier_data, synthetic
from fp8lab.fold import k_folds_into, v_folds_into
from fp8lab.granularity import Group, PerChannel, PerHead, PerTensor, PerToken
from fp8lab.metrics import attention, relative_error, sqnr_db
from fp8lab.quantize import quantize
from fp8lab.rotate import rotate


def prose(lang: str) -> str:
    return "\n".join(cell.source for cell in lesson_text("05_granularity").cells if cell.lang == lang)


def says(number: str) -> None:
    """Both languages print that number."""
    for lang in ("en", "zh"):
        assert number in prose(lang), (lang, number)


def test_the_opening_riddle():
    x = facts.four_heads()
    rows = re.findall(r"\| ([\d.]+) dB \| ([\d.]+) % \| (\d) \|", prose("en"))
    assert rows == re.findall(r"\| ([\d.]+) dB \| ([\d.]+) % \| (\d) \|", prose("zh")) and len(rows) == 2
    for (sqnr, median, count), way in zip(rows, (PerTensor(), PerHead()), strict=True):
        made = quantize(x, "E4M3FN", way)
        back = made.dequantize()
        assert f"{sqnr_db(x, back):.1f}" == sqnr and made.scales.numel() == int(count)
        assert f"{100 * relative_error(x, back, (0.5,)).quantiles[0.5]:.1f}" == median
    back = quantize(x, "E4M3FN", PerTensor()).dequantize()
    assert (back[3] == 0).all(), "a whole head"
    says(f"{100 * (back == 0).float().mean():.0f} %")


def test_the_mean_hides_a_dead_head():
    assert f"{(31 * facts.head_errors(PerHead())[1] + 1) / 32:.0%}" == "5%"


def test_who_pays_for_a_sink():
    x = torch.randn(1, 512, 128, generator=torch.Generator().manual_seed(1))
    x[:, 0] *= 5000
    for way, fp8, int8 in ((PerTensor(), 0.03, 0.99), (PerChannel(), 0.03, 0.95), (PerToken(), 0.027, 0.01)):
        lost = [
            (quantize(x, fmt, way).dequantize()[:, 1:] - x[:, 1:]).norm() / x[:, 1:].norm()
            for fmt in ("E4M3FN", "int8")
        ]
        assert lost[0] < fp8 and (lost[1] > int8 if int8 > 0.5 else lost[1] < int8)
    assert 12 < math.log2(5000) < 13


def test_what_a_channel_buys():
    _, k, _ = facts.attention_case()

    def median(fmt: str, way) -> float:
        return relative_error(k, quantize(k, fmt, way).dequantize(), (0.5,)).quantiles[0.5]

    assert 8.5 < median("int8", PerToken()) / median("int8", PerChannel()) < 9.5, "a factor of nine"
    assert median("int4", PerToken()) == 1.0 and f"{median('int4', Group(32, axis=-2)):.0%}" == "11%"
    assert abs(median("E4M3FN", PerToken()) - median("E4M3FN", PerChannel())) < 0.001


def test_two_measures_two_winners():
    table, int8 = facts.axis_table("E4M3FN"), facts.axis_table("int8")
    groups, channel = table["token × 32 channels"], table["channel"]
    for number in (f"{groups[0]:.1f} dB", f"{channel[0]:.1f}", f"{100 * groups[1]:.1f} %", f"{100 * channel[1]:.1f} %"):
        says(number)
    assert f"{groups[0] - channel[0]:.0f}" == "11" and f"{groups[1] / channel[1]:.1f}" == "1.5"
    worse = facts.draws_in_which_worse("E4M3FN", "token × 32 channels", "channel")
    assert (worse, facts.DRAWS) == (25, 32)
    says(str(worse))
    token, tokens = int8["token"], int8["channel × 32 tokens"]
    assert f"{token[2] - tokens[2]:.0f}" == "2" and f"{tokens[3] / token[3]:.0f}" == "10"
    says(f"{100 * token[3]:.1f} %"), says(f"{100 * tokens[3]:.1f} %")
    order = [sorted(int8, key=lambda name: sign * int8[name][place]) for place, sign in ((0, -1), (1, 1))]
    assert order[0] == order[1], "in int8 both measures agree on K"


def test_why_one_scale_per_channel_reads_the_sink_right():
    """The sink's large number is the absmax of its channel, so it comes back exactly; under a shared ruler it may
    not."""
    exact = {"channel": 0, "token × 32 channels": 0}
    for seed in range(facts.DRAWS):
        _, k, _ = facts.attention_case(seed)
        for name in exact:
            back = quantize(k, "E4M3FN", facts.WAYS[name]).dequantize()
            exact[name] += bool(torch.allclose(back[:, 0, 10], k[:, 0, 10], rtol=1e-6))
    assert exact["channel"] == facts.DRAWS and exact["token × 32 channels"] < facts.DRAWS / 2
    shares = []
    for query, k, _ in map(facts.attention_case, range(facts.DRAWS)):
        shares.append((query.double() @ k.double().mT * 128**-0.5).softmax(-1)[..., 0].mean().item())
    assert 0.4 < sum(shares) / len(shares) < 0.5, "nearly half of the attention"


def test_what_a_power_of_two_costs():
    errors = facts.power_errors()
    for rule in ("float32", "2^n, up"):
        says(f"{100 * errors[rule][0]:.2f} %")
    assert errors["2^n, up"][2] == 0 and f"{errors['2^n, nearest'][1]:.0%}" == "17%"
    assert 0.3 < errors["2^n, nearest"][2] < 0.4, "a third of all vectors clip"
    says(f"{100 * facts.read_by_another('2^n, down'):.0f} %")
    assert facts.read_by_another("bfloat16") < 0.026
    for size, storage, number in ((32, "E8M0FNU", "1.03"), (32, "float32", "1.125")):
        made = quantize(torch.ones(4, 128), "E4M3FN", Group(size), scale_format=storage)
        assert f"{made.bits_per_value / 8:.3f}".startswith(number)
        says(number)


def test_whom_a_rotation_helps():
    for case in (facts.attention_case, facts.biased_case):
        table = {fmt: facts.rotation_table(fmt, case) for fmt in ("int4", "int8", "E4M3FN")}
        assert 3.5 < table["int8"]["as it is"] / table["int8"]["rotated"] < 6.5, "4 to 6 times"
        assert table["E4M3FN"]["rotated"] > 2 * table["E4M3FN"]["as it is"]
    assert table["E4M3FN"]["rotated"] > 1 and table["int4"]["rotated"] > table["int4"]["as it is"]
    assert all(row["channel means removed"] < row["as it is"] / 3 for row in table.values())
    constants = torch.zeros(128)
    for channel, constant in facts.BIASED:
        constants[channel] = constant
    assert rotate(constants).abs().round().unique(return_counts=True)[1].tolist() == [64, 64]
    assert rotate(constants).abs().max().round() == 53
    says("±53")
    by_token, by_group = (
        outlier_data(synthetic("channels", 20.0), "E4M3FN", a) for a in ("token", "token × 32 channels")
    )
    assert 1.1 < by_token.helps < 1.6 and 0.25 < by_group.helps < 0.4, "a little better, three times worse"


def test_removing_a_channel_mean_changes_no_attention():
    query, k, v = facts.biased_case()
    smooth = k.double() - k.double().mean(-2, keepdim=True)
    assert torch.allclose(attention(query, smooth, v, causal=False), attention(query, k, v, causal=False), rtol=1e-6)


# ---- pictures


@pytest.mark.parametrize("name", ["sharing", "heads", "measures", "powers", "fold"])
def test_pictures_draw_and_describe_themselves(name):
    still = getattr(granularity_pictures, f"{name}_picture")()
    data, _ = still._repr_mimebundle_()
    assert len(data["image/png"]) > 10_000 and len(data["text/plain"]) > 60


def test_patches_of_one_colour_are_the_groups_of_fp8lab():
    shape = (2, 8, 12)  # heads, tokens, channels, as they are drawn
    ways = (PerTensor(), PerHead(), PerToken(), PerChannel(), Group(4, axis=-2), Group(6))
    for (title, _, group), way in zip(granularity_pictures.SHARED, ways, strict=True):
        blocks = way.blocks(shape)
        seen: dict[int, set] = {}
        for h in range(2):
            for t in range(8):
                for c in range(12):
                    seen.setdefault(group(h, t, c), set()).add((h // blocks[0], t // blocks[1], c // blocks[2]))
        assert all(len(places) == 1 for places in seen.values()), title
        assert len(set.union(*seen.values())) == len(seen), title


def test_places_in_the_picture_are_those_of_fp8lab():
    ways = (PerHead(), PerChannel(), PerToken(), Group(32))
    for (_, k_place, v_place, _), way in zip(granularity_pictures.PLACES[1:], ways, strict=True):
        made = quantize(torch.ones(2, 8, 64), "int8", way)
        assert (k_folds_into(made) or "nowhere", v_folds_into(made) or "nowhere") == (k_place, v_place)
