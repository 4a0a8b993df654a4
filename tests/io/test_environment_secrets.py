"""Secrets of the environment are known in every form in which something may repeat them, and nothing else is."""

from __future__ import annotations

import json
from base64 import b64encode
from urllib.parse import quote

import pytest

from searchmark import load_agent
from searchmark.io.secrets import environment_secrets, scrub

PASSWORD = 'p&ss "word" 123/456'  # noqa: S105  # of nobody


@pytest.mark.parametrize(
    "text",
    [
        PASSWORD,
        quote(PASSWORD, safe=""),
        json.dumps(PASSWORD),
        b64encode(PASSWORD.encode()).decode(),
        b64encode(f"u:{PASSWORD}".encode()).decode(),
        b64encode(f"me:{PASSWORD}".encode()).decode(),
        b64encode(f"you:{PASSWORD}?".encode()).decode(),
    ],
)
def test_a_secret_is_found_in_each_of_its_forms(text: str) -> None:
    found = scrub(f"before {text} after", environment_secrets({"DB_PASSWORD": f"{PASSWORD}\n"}))
    assert "(removed)" in found
    assert text[8:16] not in found


SPECIAL = "Zq7/vT&k+Lm2=_p4R<x\"'ö9"


@pytest.mark.parametrize(
    "text",
    [
        r"Zq7\/vT&k+Lm2=_p4R<x\"'\u00f69",  # PHP
        r"Zq7\/vT\u0026k+Lm2=_p4R\u003Cx\u0022\u0027\u00F69",  # PHP with JSON_HEX
        r"Zq7/vT\u0026k+Lm2=_p4R\u003cx\"'ö9",  # Go
        r"Zq7/vT\u0026k+Lm2\u003d_p4R\u003cx\"\u0027ö9",  # Gson
        r"Zq7/vT\u0026k\u002BLm2=_p4R\u003Cx\u0022\u0027\u00F69",  # .NET
        "Zq7%2fvT%26k%2bLm2%3d_p4R%3cx%22%27%c3%b69",  # .NET, Go
        "Zq7/vT%26k%2BLm2%3D_p4R%3Cx%22%27%C3%B69",
        "Zq7%2FvT%26k%2BLm2%3D_p4R%3Cx%22'%C3%B69",  # JavaScript
        "Zq7/vT&amp;k+Lm2=_p4R&lt;x&quot;&#x27;ö9",  # Python
        "Zq7/vT&amp;k&#43;Lm2=_p4R&lt;x&#34;&#39;ö9",  # Go
        "Zq7/vT&amp;k+Lm2=_p4R&lt;x&quot;&#039;ö9",  # PHP
        "Zq7&#x2F;vT&amp;k+Lm2&#x3D;_p4R&lt;x&quot;&#39;ö9",  # Mustache
        "Zq7&#47;vT&#38;k&#43;Lm2&#61;_p4R&#60;x&#34;&#39;&#246;9",
        SPECIAL.encode().hex(),
        SPECIAL.encode().hex().upper(),
    ],
)
def test_a_secret_is_found_as_libraries_escape_it(text: str) -> None:
    assert scrub(f"before {text} after", environment_secrets({"DB_PASSWORD": SPECIAL})) == "before (removed) after"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "abc-123-def-45"), ("GITHUB_TOKEN", "abc-123-def-45"), ("CLIENT_SECRET", "abc-123-def-45"), ("DB_PASSWORD", "abc-123-def-45"),
        ("PGPASSWORD", "abc-123-def-45"), ("APP_CREDENTIALS", "abc-123-def-45"), ("BASIC_AUTH", "abc-123-def-45"), ("AZURE_PAT", "abc-123-def-45"),
        ("KEY_1", "abc-123-def-45"), ("DATABASE_URL", "postgres://postgres:abc-123-def-45@db/x"), ("CONNECTION", "host=db password=abc-123-def-45 user=u"),
        ("BLOB", "AccountName=a;AccountKey=abc-123-def-45;X=y"), ("API_KEYS", "abc-123-def-45"), ("PASSPHRASE", "correct horse abc-123-def-45"),
    ],
)  # fmt: skip
def test_what_a_secret_variable_holds_is_removed(name: str, value: str) -> None:
    assert "abc-123-def-45" not in scrub(f"it said {value}", environment_secrets({name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME", "/home/somebody"), ("SSH_AUTH_SOCK", "/run/agent.123"), ("GIT_AUTHOR_NAME", "Some Body 123"), ("TOKENIZERS_PARALLELISM", "false"),
        ("DB_PASSWORD", "postgres"), ("API_KEY", "true"), ("API_KEY", "12345678"), ("API_KEY", "abc123"), ("KEY_FILE", "key-file-1.pem"),
        ("SECRET_PATH", "secrets/of/search"), ("AUTH_MODULE_KEY", "src/auth/tokens"), ("AUTH_KEY", "https://auth.example.org/login"), ("PWD", "/srv/x-1"),
        ("DATABASE_URL", "postgres://postgres:postgres@db/x"), ("KEYBOARD", "pc105-german"), ("MAX_TOKENS", "1024-2048"),
    ],
)  # fmt: skip
def test_what_occurs_in_ordinary_texts_is_not_looked_for(name: str, value: str) -> None:
    assert environment_secrets({name: value}) == frozenset()


def test_a_key_of_several_lines_is_found_line_by_line() -> None:
    key = "-----BEGIN X-----\nMIIEowIBAAKCAQEA7bq1\nAbcdefghijklmnop1234\n-----END X-----"
    assert (
        scrub("line AbcdefghijkLMN MIIEowIBAAKCAQEA7bq1", environment_secrets({"SIGNING_KEY": key}))
        == "line AbcdefghijkLMN (removed)"
    )


@pytest.mark.parametrize("text", ["401 for {head}", "401 for {head}...", "...{tail} is wrong", "a {head} b {tail} c"])
def test_a_secret_that_a_cut_has_torn_is_removed_too(text: str) -> None:
    letters = "Abcdefghij1234567890KLMNOPQRST"
    said = text.format(head=letters[:17], tail=letters[-15:])
    assert scrub(said, environment_secrets({"A_KEY": letters})) == text.format(head="(removed)", tail="(removed)")


def test_names_tell_secrets_from_what_only_sounds_like_one() -> None:
    value = "Abcdefghij1234567890"
    names = ("A_TOKEN", "AUTHORIZATION", "AUTHOR", "MONKEY_ID", "SECRET_NAME")
    assert [name for name in names if value in environment_secrets({name: value})] == ["A_TOKEN", "AUTHORIZATION"]


@pytest.mark.parametrize(
    ("dsn", "variables"),
    [
        ("${DATABASE_URL}", {"DATABASE_URL": "postgresql://me:s3cr@db.example/mine"}),
        ("postgresql://me:${DB_ID}@db.example/mine", {"DB_ID": "s3cr"}),
        ("${DB_HOST}", {"DB_HOST": "host=db.example user=me password=s3cr"}),
    ],
)
def test_the_password_of_a_database_is_secret_whatever_its_variable_is_called(dsn: str, variables: dict[str, str]) -> None:
    load_agent("semantic", embedder="hashing", index={"name": "pgvector", "dsn": dsn})
    assert scrub("at db.example with s3cr", environment_secrets(variables)) == "at db.example with (removed)"
