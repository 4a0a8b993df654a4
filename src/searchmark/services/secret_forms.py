"""What credentials look like inside a text: addresses, connection strings, flags, headers, and the tokens of well-known services.

Ordinary text must stay as it is, so a form is as narrow as its kind allows; each takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

HIDDEN = "(removed)"

_SECRET_WORD = r"(?:password|passwd|passphrase|token|secret|credentials?|(?:api|access|secret|private|auth|account)[-_]?key)"  # noqa: S105  # a name
_SECRET_FLAG = rf"--?(?:[a-z0-9]{{1,30}}[-_]){{0,3}}{_SECRET_WORD}"
_VALUE = r"(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s;,'\"]+)"
# Holds a digit or the like soon: words of a sentence do not.
_ODD = r"(?=[^\s'\"]{0,200}[\d+/=_~])"
_START = r"(?<![\w-])"
_KEY_BLOCK = r"(?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"

_TOKENS = (
    r"sk-(?=[A-Za-z_-]{0,60}\d)[\w-]{16,}",  # OpenAI, Anthropic
    r"gh[pousr]_[A-Za-z0-9]{16,}",
    r"github_pat_\w{16,}",
    r"glpat-[\w-]{16,}",
    r"hf_[A-Za-z0-9]{16,}",
    r"xox[abeprs]-[\w-]{10,}",
    r"xapp-[\w-]{10,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}",
    r"AIza[\w-]{30,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}",  # Stripe
    r"SG\.[\w-]{16,}\.[\w-]{16,}",  # SendGrid
    r"ya29\.[\w-]{16,}",  # Google
    r"pypi-[\w-]{40,}",
    r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",  # a JSON Web Token
)

# Where a variable of the environment is named, its name is no secret.
_NAMED = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"
_NAMED_USER = rf"(?:(?:[\w.-]+:)?{_NAMED}|{_NAMED}:{_NAMED})@(?![^/\s]*@)"
_USER = re.compile(rf"(?P<kept>://)(?!{_NAMED_USER})(?P<secret>[^/\s]+)(?=@)")  # up to the last @ before the path
_ONLY_NAMES = re.compile(rf"(?i)\s*(?:[a-z][a-z-]{{0,20}}\s+)?{_NAMED}\s*")
_FORMS = (
    _USER,
    re.compile(
        r"(?i)(?P<kept>(?<![A-Za-z0-9])(?:AccountKey|SharedAccessKey|SharedAccessSignature|(?:aws_?)?secret_?access_?key|aws_?session_?token"
        r"|client_?secret)['\"]?\s{0,8}[:=]\s{0,8}['\"]?)(?P<secret>(?=[^\s;'\",]{0,200}\d)[^\s;'\",]{8,})"
    ),
    re.compile(
        r"(?i)(?P<kept>(?<=[?&])[\w-]*(?:key|token|secret|password|pwd|sig|signature)=)"
        rf"(?P<secret>(?!{_NAMED}(?:[&#\s]|$))[^&#\s]+)"
    ),
    re.compile(rf"(?s)(?P<kept>)(?P<secret>-----BEGIN {_KEY_BLOCK}.*?(?:-----END {_KEY_BLOCK}|\Z))"),
    re.compile(r"(?P<kept>hooks\.slack\.com/(?:services|workflows|triggers)/)(?P<secret>[\w/-]+)"),
    re.compile(r"(?P<kept>discord(?:app)?\.com/api/webhooks/)(?P<secret>[\w/-]+)"),
    re.compile(rf"(?P<kept>){_START}(?P<secret>{'|'.join(_TOKENS)})"),
    re.compile(rf"(?i)(?P<kept>{_START}--?(?:[a-z0-9]{{1,30}}[-_]){{0,3}}{_SECRET_WORD}=)(?P<secret>{_VALUE})"),
    re.compile(
        rf"(?i)(?P<kept>{_START}--(?:[a-z0-9]{{1,30}}[-_]){{0,3}}{_SECRET_WORD}[ \t]{{1,8}}){_ODD}(?P<secret>(?!-){_VALUE})"
    ),
    re.compile(
        r"(?i)(?P<kept>(?<![\w])(?:proxy-)?authorization['\"]?\s{0,8}[:=]\s{0,8}['\"]?(?:bearer|basic|token|digest|apikey|negotiate)\s{1,8})"
        rf"{_ODD}(?P<secret>[^\s'\",;]{{6,}})"
    ),
    re.compile(rf"(?i)(?P<kept>{_START}bearer\s{{1,8}}){_ODD}(?P<secret>[\w.~+/=-]{{16,}})"),
    re.compile(
        r"(?i)(?P<kept>(?<![\w-])(?:x-)?(?:api-key|auth-token|private-token|gitlab-token|amz-security-token)['\"]?\s{0,8}:\s{0,8}['\"]?)"
        rf"{_ODD}(?P<secret>[^\s'\",;]{{8,}})"
    ),
    re.compile(
        r"(?P<kept>(?<!\w)[A-Z][A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)=['\"]?)"
        r"(?P<secret>(?=[^\s'\"]{0,200}\d)[^\s'\",;]{8,})"
    ),
)
# `host=db user=u password=...` and `Server=db;Pwd=...`; a password alone is as often the parameter of a function.
_CONNECTION = re.compile(
    r"(?i)(?<![\w.-])(?:host|hostaddr|dbname|server|data source|initial catalog|user id|uid)\s{0,8}=\s{0,8}[^\s=(),]+[\s;,]"
)
_PASSWORD = re.compile(rf"(?i)(?P<kept>{_START}(?:password|passwd|pwd|sslpassword)\s{{0,8}}=\s{{0,8}})(?P<secret>{_VALUE})")
_IN_ADDRESS = re.compile(r"(?i)(?<=[?&])(?:ssl)?password=([^&#\s]+)")
_IN_CONNECTION = re.compile(rf"(?i){_START}(?<![?&])(?:ssl)?password\s{{0,8}}=\s{{0,8}}({_VALUE})")


def without_credentials(text: str) -> str:
    """A text whose addresses, connection strings, flags, headers and tokens show no secret."""
    for form in _forms(text):
        text = form.sub(rf"\g<kept>{HIDDEN}", text)
    return text


def credentials_in(text: str) -> Iterator[str]:
    """What `without_credentials` would remove; of an address, user and password each."""
    for form in _forms(text):
        for found in form.finditer(text):
            secret = found["secret"].strip("'\"")
            yield from secret.split(":") if form is _USER else [secret]


def passwords_in(text: str) -> frozenset[str]:
    """The passwords of addresses and connection strings, as they are written and decoded; the name of a user is none."""
    in_addresses = (found["secret"].partition(":")[::2] for found in _USER.finditer(text))
    named = [*_IN_ADDRESS.findall(text), *_IN_CONNECTION.findall(text)]
    # Whoever takes the user's name for a password hides nothing by it.
    written = [*(password for user, password in in_addresses if password != user), *(each.strip("'\"") for each in named)]
    return frozenset(form for each in written if each and not only_names(each) for form in (each, unquote(each)))


def is_secret_flag(text: object) -> bool:
    """Whether the next word of a command is a secret: ``--password``, ``--api-key``."""
    return isinstance(text, str) and re.fullmatch(_SECRET_FLAG, text, re.IGNORECASE) is not None


def only_names(text: str) -> bool:
    """Whether a text is nothing but the name of an environment variable, as ``Bearer ${NAME}``: what it holds is not there."""
    return _ONLY_NAMES.fullmatch(text) is not None


def _forms(text: str) -> tuple[re.Pattern[str], ...]:
    return (*_FORMS, _PASSWORD) if _CONNECTION.search(text) else _FORMS
