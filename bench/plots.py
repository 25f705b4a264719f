"""Results as pictures: lines on logarithmic axes, and bars in groups, as SVG without anything beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_WIDTH, _HEIGHT = 760, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 560, 40, 300
#: Colours that people who see few colours tell apart (Okabe and Ito, 2008).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")


@dataclass(frozen=True, slots=True)
class _Scale:
    """A logarithmic or linear axis from the bottom of the picture to its top."""

    low: float
    high: float
    logarithmic: bool

    def y(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = log10(low), log10(high), log10(value)
        return round(_BOTTOM - (at - low) / (high - low) * (_BOTTOM - _TOP), 1)

    def ticks(self) -> list[dict[str, object]]:
        if self.logarithmic:
            values = [10.0**n for n in range(round(log10(self.low)), round(log10(self.high)) + 1)]
        else:
            values = [self.high * part / 4 for part in range(5)]
        return [{"y": self.y(value), "label": f"{value:,g}"} for value in values]


def lines(title: str, series: Mapping[str, Mapping[int, float]]) -> str:
    """Name -> abscissa -> ordinate, both axes logarithmic; what is above zero is drawn."""
    abscissas = sorted({x for points in series.values() for x in points})
    values = [y for points in series.values() for y in points.values() if y > 0]
    least = floor(log10(min(values)))
    scale = _Scale(10.0**least, 10.0 ** max(ceil(log10(max(values))), least + 1), True)
    low, high = log10(abscissas[0]), log10(abscissas[-1])

    def x(at: int) -> float:
        share = (log10(at) - low) / (high - low) if high > low else 0.5
        return round(_LEFT + 20 + share * (_RIGHT - _LEFT - 40), 1)

    drawn: list[dict[str, object]] = []
    for number, points in enumerate(series.values()):
        dots = [(x(at), scale.y(value)) for at, value in sorted(points.items()) if value > 0]
        joined = " ".join(f"{one},{two}" for one, two in dots)
        dashed = number >= len(_COLOURS)
        drawn.append({"points": joined, "dots": dots, "colour": _colour(number), "dashed": dashed})
    labels = [{"x": x(at), "text": str(at)} for at in abscissas]
    return _drawn(title, scale, labels, list(series), lines=drawn)


def bars(title: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Group -> name -> height, from zero; the names are the same in each group."""
    names = list(dict.fromkeys(name for members in groups.values() for name in members))
    most = max(value for members in groups.values() for value in members.values())
    step = 10.0 ** floor(log10(most))
    scale = _Scale(0.0, ceil(most / step) * step, False)
    room = (_RIGHT - _LEFT) / len(groups)
    width = round(room * 0.8 / len(names), 1)
    found, labels = [], []
    for place, (group, members) in enumerate(groups.items()):
        start = _LEFT + room * (place + 0.1)
        labels.append({"x": round(start + room * 0.4, 1), "text": group})
        for number, name in enumerate(names):
            if name not in members:
                continue
            top = scale.y(members[name])
            found.append(
                {
                    "x": round(start + number * width, 1),
                    "y": top,
                    "width": width,
                    "height": round(_BOTTOM - top, 1),
                    "colour": _colour(number),
                    "said": f"{name}: {members[name]:,g}",
                }
            )
    return _drawn(title, scale, labels, names, bars=found)


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _drawn(
    title: str, scale: _Scale, labels: list[dict[str, object]], names: Sequence[str], **parts: object
) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, autoescape=True
    )
    legend = [
        {"y": _TOP + 10 + 20 * number, "colour": _colour(number), "text": name}
        for number, name in enumerate(names)
    ]
    return environment.get_template("plot.svg.j2").render(
        title=title,
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=_RIGHT,
        bottom=_BOTTOM,
        ticks=scale.ticks(),
        labels=labels,
        legend=legend,
        **{"bars": [], "lines": [], **parts},
    )
