"""The file that describes a sweep: which agent, which options are fixed, and which are varied."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt

from searchmark.errors import FormatError
from searchmark.files.store import check_readable, check_shape, read_utf8
from searchmark.options.run_options import DEEPEST
from searchmark.options.strict import strict_record
from searchmark.options.user_paths import user_path

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")


@strict_record
class SweepConfig:
    """What is varied and what is fixed.

    ``grid``: by name of an option of the agent the choices for it; ``normalize`` is that of its embedder. ``options`` are the
    same for every setting. ``baseline``: choices of the setting that all others are held against; what it does not name is the
    first choice of the grid. ``measure`` is the one that decides, ``measures`` are computed beside it. ``margin``: a loss below
    it does not matter. ``depth``: how many hits are asked for.
    """

    grid: dict[str, Any]
    agent: str = "semantic"
    options: dict[str, Any] = field(default_factory=dict)
    baseline: dict[str, Any] | None = None
    measure: str = "nDCG@10"
    measures: tuple[str, ...] = ()
    margin: Annotated[float, Gt(0), Lt(1)] = 0.02
    depth: Annotated[int, Ge(1), Le(DEEPEST)] = 10
    num_runs: Annotated[int, Ge(1)] = 3


def load_sweep(path: str | PathLike[str]) -> SweepConfig:
    """Read a sweep file, YAML or JSON."""
    from pydantic import TypeAdapter

    from searchmark.files.yaml_files import parse_yaml

    file = user_path(path)
    check_readable(file)
    data = parse_yaml(file, read_utf8(file), numbers=True)
    if not isinstance(data, Mapping):
        raise FormatError(file, None, "is not a sweep file: it needs a mapping with 'grid', such as grid: {index: [exact, hnsw]}")
    _refuse_other_forms(file, data)
    return check_shape(file, TypeAdapter(SweepConfig), dict(data))


def _refuse_other_forms(file: Path, data: Mapping[str, Any]) -> None:
    """What is easily written in its stead, with the form that is right."""
    if "agents" in data and "grid" not in data:
        raise FormatError(file, None, "is an agents file; a sweep file has a grid, such as grid: {index: [exact, hnsw]}")
    baseline, margin = data.get("baseline"), data.get("margin")
    if isinstance(baseline, str):
        raise FormatError(file, "baseline", f"names choices by their options: write baseline: {{index: {baseline}}}")
    if isinstance(margin, str) and (percent := _PERCENT.fullmatch(margin)):
        raise FormatError(file, "margin", f"is a share: write {float(percent[1]) / 100:g} for {margin}")
