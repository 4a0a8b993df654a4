"""The comparison of docs with what is printed notices what differs."""

from __future__ import annotations

import pytest

from tests.printed import ShownCommand, first_difference, shown_commands

PRINTED = "bm25 on shop\n3 cases: 3 ok\n\n RR   1.0000\nindex: 0.5 s, 3 MB\n"


@pytest.mark.parametrize(
    "shown",
    [
        [],
        ["bm25 on shop", "3 cases: 3 ok", " RR  1.0000", "index: 12.25 s, 4 MB"],
        ["...", "3 cases: 3 ok", "..."],
        ["bm25 on …", "...", "index: 1 s, 1 MB"],
        ["written: a.md", "bm25 on shop", "..."],
    ],
)
def test_what_was_printed_fits(shown: list[str]) -> None:
    assert first_difference(shown, PRINTED, "written: a.md\n") is None


@pytest.mark.parametrize(
    ("shown", "difference"),
    [
        (["bm25 on shop", "3 cases: 2 ok", "..."], "3 cases: 2 ok"),
        (["3 cases: 3 ok", "..."], "3 cases: 3 ok"),  # the line before it was kept back
        (["bm25 on shop", " RR  1.0000", "..."], " RR  1.0000"),
        (["bm25 on shop", "3 cases: 3 ok"], "RR 1.0000"),  # the end was kept back
        (["...", "RR 0.9000", "..."], "RR 0.9000"),
        (["...", "index: 0.5 ms, 3 MB"], "index: 0.5 ms, 3 MB"),
        (["...", "index: 1 s, 3 MB", "...", "3 cases: 3 ok", "..."], "3 cases: 3 ok"),  # in another order
    ],
)
def test_what_was_not_printed_is_noticed(shown: list[str], difference: str) -> None:
    assert first_difference(shown, PRINTED, "") == difference


def test_commands_are_read_with_their_lines_and_exit_codes() -> None:
    page = "Text\n\n```console\n$ searchmark a\none\n\ntwo\n$ echo $?\n1\n$ cat b\n```\n```text\n$ no command\n```\n"
    assert [*shown_commands(page)] == [ShownCommand("searchmark a", ("one", "", "two"), 1), ShownCommand("cat b", ())]
