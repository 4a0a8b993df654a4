"""Predictions of MTEB: ``{subset: {split: {query: {id: score}}}}`` beside the name of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from searchmark.records import Run
from searchmark.runs.answers import ImportedAnswers
from searchmark.runs.source import RunFile

META = "mteb_model_meta"


def is_predictions(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get(META), dict)


def read_mteb(file: RunFile) -> list[Run]:
    data = file.data
    if not is_predictions(data):
        raise file.error(None, f"is not a file of predictions of MTEB: it has no {META}")
    place, answers = _chosen(file, _splits(file, data))
    model = data[META].get("model_name")
    return [ImportedAnswers(file).by_case(answers, f"{place}.", model if isinstance(model, str) and model else None)]


def _splits(file: RunFile, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The predictions by ``subset/split``."""
    found: dict[str, Mapping[str, Any]] = {}
    for subset, splits in data.items():
        if subset == META:
            continue
        for split, answers in splits.items() if isinstance(splits, dict) else ():
            if not isinstance(answers, dict):
                raise file.error(f"{subset}.{split}", "is not a mapping from query to hits, as retrieval tasks have it")
            found[f"{subset}/{split}"] = answers
    if not found:
        raise file.error(None, "holds no predictions")
    return found


def _chosen(file: RunFile, splits: Mapping[str, Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    """The only split, or the one that --map names: by its name, or with its subset before it."""
    wanted = file.field_names.get("split")
    fitting = [name for name in splits if wanted is None or wanted in (name, name.partition("/")[2], name.partition("/")[0])]
    if len(fitting) == 1:
        return fitting[0], splits[fitting[0]]
    names = ", ".join(splits)
    if not fitting:
        raise file.error(None, f"has no predictions for {wanted!r}, which --map run.split names; it has those for {names}")
    choice = f"choose one with --map run.split={fitting[0]}"
    raise file.error(None, f"has the predictions of {len(fitting)} splits: {', '.join(fitting)}; {choice}")
