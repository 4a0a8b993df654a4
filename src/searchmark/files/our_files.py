"""Files that this program has written, told by how they begin."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path

HEAD = 4096
# Whatever their names are, files of ours end like this; what ends otherwise is not looked into.
_ENDINGS = frozenset({".json", ".jsonl", ".ndjson", ".html", ".htm", ".xml", ".md", ".csv", ".tex", ".txt"})
_RECORDS = rb"run|journal|report|audit|sweep|history|trends|self-test|response|vector index"
_BEGINNINGS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:"
    rb'\{\s*"schema_version":\s*\d+,\s*(?:'
    rb'"record":\s*"(?:' + _RECORDS + rb')"'  # runs, journals, audits, sweeps
    rb'|"suite":\s*\{\s*"name":'  # reports
    rb'|"name":\s*"(?:[^"\\]|\\.)*",\s*"kind":'  # suites
    rb")"
    rb'|<\?xml [^>]*>\s*<testsuites name="searchmark"'
    rb"|<!doctype html>.{0,1500}Content-Security-Policy.{0,1500}<title>[^<]*: (?:search quality|audit|sweep)</title>"
    rb"|# [^\n]*: search quality\n\n## Summary\n"
    rb"|## [^\n]{0,20}Search quality: "
    rb"|run,test_case_id,status,query,category,retrieved_files,ground_truth_files,"
    rb"|run,segment,value,measure,unit,mean,low,high,"
    rb"|% Needs no package\.[^\n]*\n\\begin\{table\}[^\n]*\n\\centering\n\\caption\{Search quality of "
    rb"|[^\n]+ on [^\n]+\n\d+ cases: \d+ [^\n]*\n\n measure +mean "
    rb")",
    re.DOTALL | re.IGNORECASE,
)


def output_files() -> set[Path]:
    """The files that what we say is written to, as in ``searchmark ... > out.txt``, where the system tells."""
    names = (Path(f"/proc/self/fd/{number}") for number in (1, 2))
    return {name.resolve() for name in names if name.is_file()}


def is_ours(path: str | PathLike[str]) -> bool:
    """Whether a file begins as the reports, runs, journals and suites do that we write."""
    if os.path.splitext(path)[1].lower() not in _ENDINGS:  # noqa: PTH122  # of a hundred thousand files, as is the rest
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return _BEGINNINGS.match(os.read(handle, HEAD)) is not None
        finally:
            os.close(handle)
    except OSError:  # a link, a folder, a named pipe that nobody writes to, or a file that cannot be read
        return False
