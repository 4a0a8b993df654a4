"""Which names look like those of secrets: of fields in a config, and of environment variables. The one definition of both."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"(?i)(pass(word|wd|phrase|code)|(^|[-_])(pass|pwd|pw)$|secret|token|credential|auth|(^|[-_])key$|api[-_]?key|private[-_]?key|access[-_]?key"
    r"|cookie|bearer|connection[-_]?string|(^|[-_])dsn$)"
)
_NO_SECRET = re.compile(r"(?i)(tokeni[sz]|max_tokens|tokens?_per|token_limit|author(?!i)|_env$|_variable$)")
# Sizes of chunks are counted in tokens: a field of this name holds a secret unless it holds one or two small numbers.
_COUNTED, _SIZES = "tokens", re.compile(r"\s*\d{1,5}\s*(-\s*\d{1,5}\s*)?")
# Variables have short names in capitals, so that single words mean more there than in a config.
_SECRET_WORDS = frozenset({"KEY", "KEYS", "PAT", "PASS", "PWD", "PW", "CREDS", "WEBHOOK", "DSN", "SAS"})
_NO_SECRET_VARIABLES = frozenset({"PWD", "OLDPWD"})  # of the shell


def looks_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return bool(_SECRET.search(name)) and not _NO_SECRET.search(name)


def is_secret_field(name: str, value: object) -> bool:
    """Whether a field of this name holds a secret, with this value in it."""
    counted = name == _COUNTED and isinstance(value, str | int) and bool(_SIZES.fullmatch(str(value)))
    return looks_secret(name) and not counted


def is_secret_variable(name: str) -> bool:
    """Whether an environment variable of this name holds a secret."""
    if name.upper() in _NO_SECRET_VARIABLES or _NO_SECRET.search(name):
        return False
    return looks_secret(name) or not _SECRET_WORDS.isdisjoint(name.upper().split("_"))
