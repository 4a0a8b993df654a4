"""Credentials are removed from texts, ordinary texts stay as they are, and neither takes long."""

from __future__ import annotations

from time import process_time

import pytest

from searchmark.io.secrets import REMOVED_MARK, secrets_in, without_credentials, without_secrets

# Made of pieces, so that no scanner of secrets takes this file for a leak.
PEM = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEowIBAAKCAQEA7bq1\nsecretline\n-----END RSA PRIVATE " + "KEY-----"
LETTERS = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("host=db user=u password=pw1 dbname=x", "host=db user=u password=(removed) dbname=x"),
        ("host=db user=u password='two words' port=5", "host=db user=u password=(removed) port=5"),
        ("Server=tcp:db;User Id=u;Password=pw1;", "Server=tcp:db;User Id=u;Password=(removed);"),
        ('connect(host="db", password="pw1")', 'connect(host="db", password=(removed))'),
        ("run --password=pw1 --verbose", "run --password=(removed) --verbose"),
        ("run --db-password='two words' x", "run --db-password=(removed) x"),
        ("run --api-key abc123def x", "run --api-key (removed) x"),
        ("sent Authorization: Bearer abc123def.ghi, got 401", "sent Authorization: Bearer (removed), got 401"),
        ("{'Authorization': 'Basic dXNlcjpwdw=='}", "{'Authorization': 'Basic (removed)'}"),
        ("x-api-key: abc123def456", "x-api-key: (removed)"),
        (f"key:\n{PEM}\nend", "key:\n(removed)\nend"),
        (PEM[:60], "(removed)"),
        ("AccountName=a;AccountKey=abc123/+def==;Endpoint=x", "AccountName=a;AccountKey=(removed);Endpoint=x"),
        ("Endpoint=sb://x;SharedAccessSignature=sr=a&sig=b1c2d3", "Endpoint=sb://x;SharedAccessSignature=(removed)"),
        ("see https://hooks.slack.com/services/T0/B0/abc now", "see https://hooks.slack.com/services/(removed) now"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = (removed)"),
        ("export OPENAI_API_KEY=abc123def456", "export OPENAI_API_KEY=(removed)"),
        ("https://u:p@host/x?token=abc#y", "https://(removed)@host/x?token=(removed)#y"),
    ],
)  # fmt: skip
def test_a_secret_is_removed_and_the_rest_stays(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


@pytest.mark.parametrize(
    "token",
    [
        f"sk-{LETTERS}", f"sk-ant-api03-{LETTERS}", f"ghp_{LETTERS}", f"gho_{LETTERS}", f"github_pat_{LETTERS}", f"glpat-{LETTERS}",
        f"hf_{LETTERS}", f"xoxb-123-{LETTERS}", f"xapp-1-{LETTERS}", "AKIA" + "ABCDEFGH12345678", f"AIza{LETTERS}", f"npm_{LETTERS}",
        f"sk_live_{LETTERS}", f"rk_live_{LETTERS}", f"SG.{LETTERS[:22]}.{LETTERS}", f"ya29.{LETTERS}", f"pypi-{LETTERS}{LETTERS}",
        f"eyJhbGciOiJI.eyJzdWIiOiIx.{LETTERS}",
    ],
)  # fmt: skip
def test_tokens_of_well_known_services_are_removed_wherever_they_are(token: str) -> None:
    assert without_credentials(f"401 for {token}, try again") == f"401 for {REMOVED_MARK}, try again"
    assert token in secrets_in({"note": f"401 for {token}, try again"})


@pytest.mark.parametrize(
    "text",
    [
        "Fixed #1 -- Added a --password option to createsuperuser", "token=None is refused", "create_user(username, password=password)",
        "Basic module support is working", "Authorization: Basic header", "bearer tokens are case sensitive", "use sk-learn-contrib-lightning",
        "src/auth/token/password.py", "tests/test_secret_key.py", "set SECRET_KEY='' in settings", "hf_hub_download with a cache",
        "the api-key: option", "user@example.org", "AKIA is a prefix", "SG.M", "eyJ", "pypi-publish", "npm_config_registry", "host=localhost",
        "-----BEGIN CERTIFICATE-----", "e5a1f6c2b3d4e5f60718293a4b5c6d7e8f901234", "password reset tokens", "?sort=key&page=2",
    ],
)  # fmt: skip
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert without_secrets(text) == text


def test_the_word_after_a_secret_flag_of_a_command_is_removed() -> None:
    command = {"command": ["tool", "--password", "opensesame", "--verbose", "x"]}
    assert without_secrets(command) == {"command": ["tool", "--password", REMOVED_MARK, "--verbose", "x"]}
    assert secrets_in(command) == {"opensesame"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "password=", "password='", "--password ", "--a-", "host=a password='", "authorization: bearer ", "bearer ", "eyJaaaaaaaaaaaa.",
        "SG.aaaaaaaaaaaaaaaaaaaa.", "sk-", "://", "://a@", "?key", "&key=", "-----BEGIN ", "-----BEGIN PRIVATE " + "KEY-----", "A_KEY=", "A", " ",
        "'", "data source ",
    ],
)  # fmt: skip
def test_a_long_text_takes_no_longer_than_its_length_asks_for(text: str) -> None:
    """A quarter of a megabyte takes a tenth of a second; time that grows with its square would be minutes."""
    started = process_time()
    without_secrets(f"://host=a b ?{text * ((1 << 18) // len(text))}")
    assert process_time() - started < 2
