"""Responses of Elasticsearch and OpenSearch: many searches in one (``_msearch``), a folder of responses, ``_rank_eval``.

The response to several searches does not repeat what was asked: its answers are those to the cases of the suite, in their order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from searchmark.files.store import parse_json, read_text
from searchmark.records import Run
from searchmark.runs.answers import ImportedAnswers, is_msearch, is_nameless
from searchmark.runs.plain import read_lines, read_plain
from searchmark.runs.source import RunFile

OTHER_FILES = "files of the folder that are not .json, left out"


def read_responses(file: RunFile) -> list[Run]:
    """Responses in a folder, of ``_msearch``, or by query."""
    if file.path.is_dir():
        return [_read_folder(file)]
    if file.by_line:
        return read_lines(file)
    data = file.data
    return [ImportedAnswers(file).in_order([("", data)])] if is_msearch(data) else read_plain(file)


def is_nameless_list(data: Any) -> bool:
    """Whether this is a response of ``_msearch``, or a list of responses that do not say what was asked."""
    return is_msearch(data) or (isinstance(data, list) and bool(data) and is_nameless(data[0]))


def _read_folder(file: RunFile) -> Run:
    """A file per case, which is called like the case, or like its query."""
    reader, answers = ImportedAnswers(file), []
    for path in sorted(each for each in file.path.iterdir() if each.is_file() and not each.name.startswith(".")):
        one = RunFile(path, file.field_names)
        if one.suffix != ".json":
            reader.count(OTHER_FILES)
            continue
        answers.append(reader.answer(one.name, path.name, _content(path)))
    if not answers:
        raise file.error(None, "is a folder without responses: a run has a file CASE.json for every case")
    return reader.run(answers)


def _content(path: Path) -> Any:
    return parse_json(path, read_text(path), constants=True)


def is_rank_eval(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("details"), dict) and "metric_score" in data


def read_rank_eval(file: RunFile) -> list[Run]:
    """What ``_rank_eval`` found for each of its requests, rated or not; a request that failed is an error."""
    data = file.data
    if not is_rank_eval(data):
        raise file.error(None, "is not a response of _rank_eval: it has no metric_score and details")
    reader = ImportedAnswers(file)
    answers = [reader.answer(case, f"details.{case}", found) for case, found in data["details"].items()]
    failures = data.get("failures")
    for case, failure in failures.items() if isinstance(failures, dict) else ():
        wrapped = failure if isinstance(failure, dict) and "error" in failure else {"error": failure}
        answers.append(reader.answer(case, f"failures.{case}", wrapped))
    return [reader.run(answers)]
