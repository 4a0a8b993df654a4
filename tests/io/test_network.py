"""Who may use the network, and which key goes where."""

from __future__ import annotations

import os

import pytest

from searchmark import UsageError
from searchmark.io.network import check_network, key_variable_for, network_allowed, network_forbidden

OWN = "https://api.openai.com/v1"


def test_what_is_forbidden_is_refused_and_models_are_not_downloaded(monkeypatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with network_forbidden():
        assert os.environ["HF_HUB_OFFLINE"] == "1"
        with pytest.raises(UsageError, match=r"http://127\.0\.0\.1 was not asked: --offline and --no-exec allow no network"):
            check_network("http://127.0.0.1")
    check_network("http://127.0.0.1")
    assert "HF_HUB_OFFLINE" not in os.environ


def test_runs_that_overlap_forbid_it_until_the_last_one_ends() -> None:
    first, second = network_forbidden(), network_forbidden()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not network_allowed()
    second.__exit__(None, None, None)
    assert network_allowed()


@pytest.mark.parametrize(
    ("url", "named", "expected"),
    [
        (OWN, None, "OPENAI_API_KEY"),
        ("https://API.openai.com:443/v2", None, "OPENAI_API_KEY"),
        (OWN, "", None),
        (OWN, "MINE", "MINE"),
        ("https://elsewhere.example/v1", "MINE", "MINE"),
        ("https://elsewhere.example/v1", None, None),
        ("http://api.openai.com/v1", None, None),
        ("https://api.openai.com:8443/v1", None, None),
        ("https://api.openai.com@elsewhere.example/v1", None, None),
        ("https://api.openai.com.elsewhere.example/v1", None, None),
        ("https://elsewhere.example/?https://api.openai.com", None, None),
        ("https://[api.openai.com/v1", None, None),
        ("http://localhost:11434/v1", None, None),
    ],
)
def test_a_default_key_goes_to_its_own_host_and_a_named_one_where_it_was_named(url: str, named: str | None, expected: str) -> None:
    assert key_variable_for(url, named, OWN, "OPENAI_API_KEY") == expected
