"""Which environment variables are withheld from agents, and scrubbed wherever something is written."""

from __future__ import annotations

import pytest

from searchmark.io.secrets import is_secret_variable, looks_secret


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "GITHUB_TOKEN", "GH_PAT", "DATABASE_PASSWORD", "PGPASSWORD",
        "STRIPE_KEY_LIVE", "SSH_AUTH_SOCK", "GOOGLE_APPLICATION_CREDENTIALS", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "DB_PWD", "api_key",
    ],
)  # fmt: skip
def test_a_variable_that_holds_a_secret_is_told_by_its_name(name: str) -> None:
    assert is_secret_variable(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "PWD",
        "OLDPWD",
        "HOME",
        "LANG",
        "TOKENIZERS_PARALLELISM",
        "MAX_TOKENS",
        "GIT_AUTHOR_NAME",
        "SSL_CERT_FILE",
        "KEYBOARD",
        "MONKEY",
    ],
)
def test_an_ordinary_variable_is_left_alone(name: str) -> None:
    assert not is_secret_variable(name)


def test_a_field_of_a_config_is_judged_by_fewer_words_than_a_variable() -> None:
    assert (looks_secret("key_columns"), is_secret_variable("KEY_COLUMNS")) == (False, True)
