"""Records of options: what their fields say, and what they refuse wherever they are made."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
import pytest

from searchmark import CompareSettings, DatasetSettings, FormatError, RunSettings, UsageError, load_config
from searchmark.config.option import Option, Setting, option_fields

SECTIONS = [RunSettings, CompareSettings, DatasetSettings]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_says_in_a_sentence_what_it_is(section: type) -> None:
    hints = get_type_hints(section, include_extras=True)
    said = {
        each.name: [part.help for part in hints[each.name].__metadata__ if isinstance(part, Option | Setting)]
        for each in fields(section)
    }
    assert [name for name, sentences in said.items() if len(sentences) != 1 or not sentences[0].endswith(".")] == []


@pytest.mark.parametrize("section", SECTIONS)
def test_every_default_is_allowed(section: type) -> None:
    assert [each.name for each in option_fields(section) if not each.allows(each.default)] == []


@pytest.mark.parametrize(
    ("section", "given", "sentence"),
    [
        (RunSettings, {"num_runs": 0}, "num_runs must be a whole number of at least 1, not 0"),
        (RunSettings, {"num_runs": 2.5}, "num_runs must be a whole number of at least 1, not 2.5"),
        (RunSettings, {"num_runs": True}, "num_runs must be a whole number of at least 1, not True"),
        (RunSettings, {"num_runs": "3"}, "num_runs must be a whole number of at least 1, not '3'"),
        (RunSettings, {"seed": None}, "seed must be a whole number, not None"),
        (RunSettings, {"depth": 1_000_001}, "depth must be a whole number of at least 1 and at most 1000000, not 1000001"),
        (RunSettings, {"timeout_seconds": 0}, "timeout_seconds must be a number above 0 and at most 1000000, not 0"),
        (RunSettings, {"timeout_seconds": float("nan")}, "timeout_seconds must be a number above 0 and at most 1000000, not nan"),
        (
            RunSettings,
            {"initialize_timeout_seconds": float("inf")},
            "initialize_timeout_seconds must be a number above 0 and at most",
        ),
        (RunSettings, {"warm_up": "no"}, "warm_up must be true or false, not 'no'"),
        (CompareSettings, {"margin": 1.5}, "margin must be a number of at least 0 and at most 1, not 1.5"),
        (CompareSettings, {"baseline": 3}, "baseline must be text, not 3"),
        (DatasetSettings, {"max_cases": 0}, "max_cases must be a whole number of at least 1, not 0"),
        (DatasetSettings, {"unit": "week"}, "unit must be one of commit, pr, auto, not 'week'"),
        (DatasetSettings, {"kinds": ("code", "art")}, r"kinds must be a list, each one of code, .*, not \('code', 'art'\)"),
        (DatasetSettings, {"paths": "src"}, "paths must be a list, each text, not 'src'"),
        (DatasetSettings, {"min_files": 5, "max_files": 4}, r"max_files must be at least min_files \(5\), not 4"),
    ],
)
def test_a_record_refuses_what_its_field_does_not_allow(section: type, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        section(**given)


def test_numbers_of_numpy_and_lists_are_welcome_in_a_notebook() -> None:
    assert RunSettings(num_runs=np.int64(2), timeout_seconds=np.float64(0.5)).initialize_seconds == 10
    assert DatasetSettings(paths=["src"]).paths == ["src"]  # type: ignore[arg-type]  # what a notebook does


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("evaluation: {num_runs: 0}", "evaluation.num_runs: input should be greater than or equal to 1, not 0"),
        ("evaluation: {timeout_seconds: .inf}", "evaluation.timeout_seconds: inf is not a finite number"),
        ("evaluation: {blocks: 3}", "evaluation.blocks: is not a known field"),
        ("compare: {margin: 2}", "compare.margin: input should be less than or equal to 1, not 2"),
        ("dataset: {max_cases: 0}", "dataset.max_cases: input should be greater than or equal to 1, not 0"),
        ("dataset: {min_files: 5, max_files: 4}", "c.yaml: max_files must be at least min_files (5), not 4"),
    ],
)
def test_a_config_file_is_refused_with_its_name_and_the_field(file, content: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_config(file("c.yaml", content))
    assert complaint in str(caught.value)
    assert "c.yaml" in str(caught.value)


def test_a_section_of_the_file_is_the_record_that_a_run_takes(file) -> None:
    config = load_config(file("c.yaml", "evaluation: {block: 5, no_exec: true}\ncompare: {baseline: bm25}"))
    assert config.evaluation == RunSettings(block=5, no_exec=True)
    assert config.compare == CompareSettings(baseline="bm25")
