"""Which environment variables a worker gets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from searchmark.services.environment_secrets import named_secrets
from searchmark.services.secret_names import is_secret_variable

# What decides how programs are found, how text is read, and how many threads compute.
_ALLOWED = re.compile(
    r"PATH|LANG|LANGUAGE|LC_\w+|TZ|TERM|NO_COLOR|LD_LIBRARY_PATH|SOURCE_DATE_EPOCH|TOKENIZERS_PARALLELISM|CUDA_VISIBLE_DEVICES"
    r"|VIRTUAL_ENV|SEARCHMARK_(DEBUG|GIT_SECONDS)|(PYTHON|OMP_|KMP_|GOMP_|MKL_|OPENBLAS_|BLIS_|NUMEXPR_|VECLIB_|RAYON_|POLARS_|MALLOC_)\w*"
)
_ALLOWED_WITH_NETWORK = re.compile(r"(?i)(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE")
_KEY_ERROR = re.compile(r"\b(?:KeyError: '|environment variable )([A-Za-z_][A-Za-z0-9_]*)")


def withheld_from(environment: Mapping[str, str], named: frozenset[str]) -> frozenset[str]:
    """The variables that are secrets, or look so, and that neither the agent's spec nor the command line names."""
    secret = named_secrets()
    return frozenset(name for name in environment if (name in secret or is_secret_variable(name)) and name not in named)


def without(environment: Mapping[str, str], withheld: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in withheld}


def allowed_in_sandbox(environment: Mapping[str, str], named: frozenset[str], *, network: bool) -> dict[str, str]:
    """The variables that are on the list, and those that the agent's spec or the command line names."""
    return {
        name: value
        for name, value in environment.items()
        if name in named or (_is_listed(name, network=network) and not is_secret_variable(name) and name not in named_secrets())
    }


def _is_listed(name: str, *, network: bool) -> bool:
    return bool(_ALLOWED.fullmatch(name) or (network and _ALLOWED_WITH_NETWORK.fullmatch(name)))


def explained(reason: str, withheld: frozenset[str]) -> str:
    """The reason of a failure; where a variable was missing because it was withheld, with what to do about it."""
    missing = next((name for name in _KEY_ERROR.findall(reason) if name in withheld), None)
    return reason if missing is None else f"{reason}; {missing} was withheld from the agent: pass it with --pass-env {missing}"
