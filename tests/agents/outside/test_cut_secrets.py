"""Texts that outside systems say are cut to fit into a sentence, and no cut leaves a piece of a secret there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from searchmark import AgentSpec, SearchmarkError
from searchmark.agents.outside.process import KEPT_OUTPUT_BYTES, output_excerpt
from searchmark.agents.outside.results import ResultFormat, ResultReader
from searchmark.agents.registry import create_agent
from searchmark.config.agents import parse_source
from tests.agents.outside.programs import python

SECRET = "Zq7vTk9Lm2p4RxWb8Yd"  # noqa: S105  # of nobody
PIECES = [SECRET[start : start + 5] for start in range(len(SECRET) - 4)]
READERS: dict[str, Callable[[str], object]] = {
    "not json": ResultReader(ResultFormat(), "json").read,
    "no list": lambda text: ResultReader(ResultFormat(hits="hits"), "json").read_data({"said": text}),
    "an error": lambda text: ResultReader(ResultFormat(hits="hits", error="said"), "json").read_data({"said": text}),
    "no hit": lambda text: ResultReader(ResultFormat(id="id"), "json").read_data([{"said": text}]),
    "nothing that hits have": lambda text: ResultReader(ResultFormat(), "json").read_data([{"said": text}]),
    "no line that fits": ResultReader(ResultFormat(pattern="^(?P<id>x)$"), "regex").read,
}


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)


@pytest.mark.slow
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_no_cut_of_an_unreadable_answer_leaves_a_piece_of_a_secret(read: Callable[[str], object]) -> None:
    for before in range(40, 160):
        with pytest.raises(SearchmarkError) as caught:
            read("-" * before + SECRET + "-" * 400)
        assert [piece for piece in PIECES if piece in str(caught.value)] == []


def test_no_cut_of_what_a_program_complains_of_leaves_a_piece_of_a_secret() -> None:
    for after in range(260, 320):
        shown = output_excerpt(f"{'-' * 500}{SECRET}{'-' * after}".encode())
        assert [piece for piece in PIECES if piece in shown] == []
    torn = f"{SECRET[4:]} {' ' * KEPT_OUTPUT_BYTES} wrong".encode()[: KEPT_OUTPUT_BYTES - 6] + b" wrong"
    assert output_excerpt(torn) == "wrong"


@pytest.mark.parametrize("before", [385, 390, 395])
def test_no_cut_of_a_complaint_leaves_a_piece_of_a_secret_that_the_program_got(before: int) -> None:
    said = "-" * before + SECRET + "-" * 290
    argv = list(python(f"import sys; sys.exit({said!r})", "{query}"))
    spec = AgentSpec("failing", parse_source("command"), {"argv": argv}, env=("SHOP_PASSWORD",))
    with pytest.raises(SearchmarkError) as caught:
        create_agent(spec).retrieve("red", 5)
    assert [piece for piece in PIECES if piece in str(caught.value)] == []
