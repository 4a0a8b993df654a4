"""Strangers' text stays text: on a page, in a spreadsheet, in the log of a CI system and on a terminal."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.reports.quoting import csv_text, markdown_text, visible

BREAK = "\u200b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("www.evil.example", f"www{BREAK}.evil.example"),
        ("(WWW.evil.example/x", f"(WWW{BREAK}.evil.example/x"),
        ("mail me@evil.example", f"mail me@{BREAK}evil.example"),
        ("a.b@1.example", f"a.b@{BREAK}1.example"),
        ("http://evil.example", f"http:{BREAK}//evil.example"),
        ("see #12", f"see \\#{BREAK}12"),
        ("@0xdead", f"@{BREAK}0xdead"),
        ("ping (@1user)", f"ping (@{BREAK}1user)"),
        ("GH-12 and gh-3", f"GH-{BREAK}12 and gh-{BREAK}3"),
        ("a5c3785ed8d6a35868bc169f07e40e889087fd2e", f"a5c3785{BREAK}ed8d6a35868bc169f07e40e889087fd2e"),
        ("P@5 and nDCG@10", "P@5 and nDCG@10"),
    ],
)
def test_nothing_becomes_a_link_in_markdown(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


WORDS = {
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "skin tone": "\U0001f469\U0001f3fd\u200d\U0001f4bb",
}


@pytest.mark.parametrize("text", WORDS.values(), ids=WORDS)
def test_joiners_that_words_and_emoji_are_written_with_stay(text: str) -> None:
    assert visible(f"{text}\x00") == f"{text}\\x00"


@pytest.mark.parametrize(
    "text", ["a{}b", "{}a", "a{}", "\u0645{}", "\u0627{}\u0645", "\U0001f468{}a", "\u0645{0}{0}\u0645", "1{}2"]
)
@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"])
def test_joiners_that_show_nothing_are_written_out(text: str, joiner: str) -> None:
    assert visible(text.format(joiner)) == text.format(joiner.encode("unicode_escape").decode())


@pytest.mark.parametrize(
    "text",
    [
        "=1+1", "+1", "-1", "@SUM(1)", " =1+1", "\t=1+1", "\n=1+1", "\u3000=1+1", "\uff1d1+1", " \uff0b1", "\uff0d1", "\uff20SUM(1)",
        "::error::x", "  ::error::x", "##[error]x", "##vso[task.setvariable]x", "'=1",
    ],
)  # fmt: skip
def test_what_a_spreadsheet_or_a_ci_system_would_obey_is_behind_an_apostrophe(text: str) -> None:
    assert csv_text(text) == f"'{visible(text)}"


@pytest.mark.parametrize("text", ["a=b", "src/x.py", "## heading", "it's", "C++", "12"])
def test_other_cells_are_as_they_are(text: str) -> None:
    assert csv_text(text) == text


@given(st.lists(st.text(alphabet=st.sampled_from("='+-@\uff1d: #[x\",\n")), min_size=1))
def test_cells_come_back_once_the_apostrophe_is_taken_off(texts: list[str]) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(map(csv_text, texts))
    (row,) = csv.reader(io.StringIO(file.getvalue())) if any(texts) or len(texts) > 1 else [[""]]
    assert [cell.removeprefix("'") for cell in row] == [visible(text) for text in texts]
