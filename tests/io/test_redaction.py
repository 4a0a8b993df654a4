"""What is written down gives no secret away."""

from __future__ import annotations

import pytest

from searchmark.io.secrets import REMOVED_MARK, scrub, secrets_in, without_secrets


@pytest.mark.parametrize(
    "config",
    [
        {"api_key": "abc"}, {"apiKey": "abc"}, {"API-KEY": "abc"}, {"password": "p"}, {"passwd": "p"}, {"db_password": "p"}, {"token": "t"},
        {"access_token": "t"}, {"client_secret": "s"}, {"Authorization": "Bearer x"}, {"headers": {"auth": "x"}}, {"private_key": "x"},
        {"key": "x"}, {"signing-key": "x"}, {"cookie": "x"}, {"credentials": ["x"]}, {"dsn": "x"}, {"url": "https://user:pw@host/x"},
        {"anything": "sk-abcdefgh"}, {"anything": "ghp_abcdefgh"}, {"list": ["AKIAABCDEFGH"]}, {"header": "Bearer abc"}, {"token": 12345},
        {"jwt": "eyJhbGciOi.eyJzdWIi"}, {"headers": {"Authorization": "Token abc"}}, {"authorization_header": "abc"}, {"credentials": {"pw": "abc"}},
        {"password": {"value": "abc"}}, {"secrets": {"openai": "abc"}}, {"pwd": "abc"}, {"url": "https://host/x?api_key=abc&y=1"}, {"y": "hf_abc"},
        {"y": "glpat-abc"}, {"url": "postgres://u:p@ss@host/db"},
        {"tokens": "abc"}, {"tokens": ["abc"]}, {"tokens": {"github": "12345"}}, {"tokens": 1234567}, {"token": "300-12345"}, {"secrets": {"tokens": 12345}},
    ],
    ids=str,
)  # fmt: skip
def test_secrets_are_removed(config: dict[str, object]) -> None:
    assert REMOVED_MARK in str(without_secrets(config))
    assert not any(
        secret in str(without_secrets(config))
        for secret in ("abc", "pw@", "sk-", "ghp_", "AKIA", "eyJ", "'p'", "'t'", "'x'", "'s'", "12345", "ss@host")
    )


@pytest.mark.parametrize(
    "config",
    [
        {"tokenizer": "porter"}, {"tokeniser": "x"}, {"max_tokens": 5}, {"author": "me"}, {"k1": 1.2}, {"case_sensitive": False}, {"keyword": "x"},
        {"monkey": "x"}, {"url": "https://host/x?y=1"}, {"model": "sentence-transformers/all-MiniLM-L6-v2"}, {"api_key": None},
        {"api_key_env": "OPENAI_API_KEY"}, {"passage_prefix": "x"},
        {"tokens": 300}, {"chunking": {"tokens": "300-800", "overlap": "15%"}}, {"tokens": "1000 - 2000"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_secret_stays(config: dict[str, object]) -> None:
    assert without_secrets(config) == config


def test_secrets_are_found_to_look_for_them_elsewhere() -> None:
    config = {
        "api_key": "very-secret",
        "nested": {"token": ["one-more"]},
        "url": "https://me:hidden@host/?sig=signed",
        "k1": 1.2,
        "pw": "abc",
    }
    assert secrets_in(config) == {"very-secret", "one-more", "hidden", "signed"}
    assert scrub({"failed": "401 for very-secret", "more": ["one-more", 3]}, secrets_in(config)) == {
        "failed": "401 for (removed)",
        "more": ["(removed)", 3],
    }


def test_the_name_of_a_variable_is_no_secret_and_stays() -> None:
    config = {
        "url": "https://elastic:${PASSWORD}@host/x?api_key=${KEY}&q={query}",
        "headers": {"Authorization": "Bearer ${KEY}", "X-Api-Key": "${KEY}"},
    }
    assert without_secrets(config) == config
    assert secrets_in(config) == frozenset()


@pytest.mark.parametrize(
    "text",
    ["https://t0k3n@host", "https://a:b${X}@host", "https://a:${X}@b@host", "https://host?api_key=abc${X}", "https://h?key=${X}y"],
)
def test_what_stands_beside_the_name_of_a_variable_is_removed(text: str) -> None:
    assert "(removed)" in without_secrets(text)


def test_the_size_of_a_chunk_is_not_looked_for_elsewhere() -> None:
    assert secrets_in({"chunking": {"tokens": "300-800"}}) == secrets_in({"tokens": 1000}) == frozenset()
    assert secrets_in({"secrets": {"tokens": 1000}}) == {"1000"}
