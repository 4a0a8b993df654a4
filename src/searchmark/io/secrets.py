"""Secrets in configs, texts and the environment: recognized, redacted, and read as ${NAME}."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from html import escape
from itertools import count, islice
from math import ceil
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus, unquote

from searchmark.errors import UsageError, shortened

# What credentials look like inside a text: addresses, connection strings, flags, headers, and the tokens of well-known
# services.
#
# Ordinary text must stay as it is, so a form is as narrow as its kind allows; each takes time in proportion to the text.

REMOVED_MARK = "(removed)"

_SECRET_WORD = r"(?:password|passwd|passphrase|token|secret|credentials?|(?:api|access|secret|private|auth|account)[-_]?key)"  # noqa: S105  # a name

_SECRET_FLAG = rf"--?(?:[a-z0-9]{{1,30}}[-_]){{0,3}}{_SECRET_WORD}"

_VALUE = r"(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s;,'\"]+)"


# Holds a digit or the like soon: words of a sentence do not.
_ODD_VALUE = r"(?=[^\s'\"]{0,200}[\d+/=_~])"

_WORD_START = r"(?<![\w-])"

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
_VARIABLE_NAME = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"

_VARIABLE_AS_USER = rf"(?:(?:[\w.-]+:)?{_VARIABLE_NAME}|{_VARIABLE_NAME}:{_VARIABLE_NAME})@(?![^/\s]*@)"

_USER = re.compile(rf"(?P<kept>://)(?!{_VARIABLE_AS_USER})(?P<secret>[^/\s]+)(?=@)")  # up to the last @ before the path

_ONLY_NAMES = re.compile(rf"(?i)\s*(?:[a-z][a-z-]{{0,20}}\s+)?{_VARIABLE_NAME}\s*")


_FORMS = (
    _USER,
    re.compile(
        r"(?i)(?P<kept>(?<![A-Za-z0-9])(?:AccountKey|SharedAccessKey|SharedAccessSignature|(?:aws_?)?secret_?access_?key|aws_?session_?token"
        r"|client_?secret)['\"]?\s{0,8}[:=]\s{0,8}['\"]?)(?P<secret>(?=[^\s;'\",]{0,200}\d)[^\s;'\",]{8,})"
    ),
    re.compile(
        r"(?i)(?P<kept>(?<=[?&])[\w-]*(?:key|token|secret|password|pwd|sig|signature)=)"
        rf"(?P<secret>(?!{_VARIABLE_NAME}(?:[&#\s]|$))[^&#\s]+)"
    ),
    re.compile(rf"(?s)(?P<kept>)(?P<secret>-----BEGIN {_KEY_BLOCK}.*?(?:-----END {_KEY_BLOCK}|\Z))"),
    re.compile(r"(?P<kept>hooks\.slack\.com/(?:services|workflows|triggers)/)(?P<secret>[\w/-]+)"),
    re.compile(r"(?P<kept>discord(?:app)?\.com/api/webhooks/)(?P<secret>[\w/-]+)"),
    re.compile(rf"(?P<kept>){_WORD_START}(?P<secret>{'|'.join(_TOKENS)})"),
    re.compile(rf"(?i)(?P<kept>{_WORD_START}--?(?:[a-z0-9]{{1,30}}[-_]){{0,3}}{_SECRET_WORD}=)(?P<secret>{_VALUE})"),
    re.compile(
        rf"(?i)(?P<kept>{_WORD_START}--(?:[a-z0-9]{{1,30}}[-_]){{0,3}}{_SECRET_WORD}[ \t]{{1,8}})"
        rf"{_ODD_VALUE}(?P<secret>(?!-){_VALUE})"
    ),
    re.compile(
        r"(?i)(?P<kept>(?<![\w])(?:proxy-)?authorization['\"]?\s{0,8}[:=]\s{0,8}['\"]?(?:bearer|basic|token|digest|apikey|negotiate)\s{1,8})"
        rf"{_ODD_VALUE}(?P<secret>[^\s'\",;]{{6,}})"
    ),
    re.compile(rf"(?i)(?P<kept>{_WORD_START}bearer\s{{1,8}}){_ODD_VALUE}(?P<secret>[\w.~+/=-]{{16,}})"),
    re.compile(
        r"(?i)(?P<kept>(?<![\w-])(?:x-)?(?:api-key|auth-token|private-token|gitlab-token|amz-security-token)['\"]?\s{0,8}:\s{0,8}['\"]?)"
        rf"{_ODD_VALUE}(?P<secret>[^\s'\",;]{{8,}})"
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

_PASSWORD = re.compile(rf"(?i)(?P<kept>{_WORD_START}(?:password|passwd|pwd|sslpassword)\s{{0,8}}=\s{{0,8}})(?P<secret>{_VALUE})")

_IN_ADDRESS = re.compile(r"(?i)(?<=[?&])(?:ssl)?password=([^&#\s]+)")

_IN_CONNECTION = re.compile(rf"(?i){_WORD_START}(?<![?&])(?:ssl)?password\s{{0,8}}=\s{{0,8}}({_VALUE})")


def without_credentials(text: str) -> str:
    """A text whose addresses, connection strings, flags, headers and tokens show no secret."""
    for form in _forms_for(text):
        text = form.sub(rf"\g<kept>{REMOVED_MARK}", text)
    return text


def credentials_in(text: str) -> Iterator[str]:
    """What `without_credentials` would remove; of an address, user and password each."""
    for form in _forms_for(text):
        for match in form.finditer(text):
            secret = match["secret"].strip("'\"")
            yield from secret.split(":") if form is _USER else [secret]


def passwords_in(text: str) -> frozenset[str]:
    """The passwords of addresses and connection strings, as they are written and decoded; the name of a user is none."""
    in_addresses = (match["secret"].partition(":")[::2] for match in _USER.finditer(text))
    values = [*_IN_ADDRESS.findall(text), *_IN_CONNECTION.findall(text)]
    # A password that is the user's name is no secret: hiding it would hide nothing.
    passwords = [*(password for user, password in in_addresses if password != user), *(each.strip("'\"") for each in values)]
    return frozenset(form for each in passwords if each and not is_only_variables(each) for form in (each, unquote(each)))


def is_secret_flag(text: object) -> bool:
    """Whether the next word of a command is a secret: ``--password``, ``--api-key``."""
    return isinstance(text, str) and re.fullmatch(_SECRET_FLAG, text, re.IGNORECASE) is not None


def is_only_variables(text: str) -> bool:
    """Whether a text is nothing but the name of an environment variable, as ``Bearer ${NAME}``: what it holds is not there."""
    return _ONLY_NAMES.fullmatch(text) is not None


def _forms_for(text: str) -> tuple[re.Pattern[str], ...]:
    return (*_FORMS, _PASSWORD) if _CONNECTION.search(text) else _FORMS


# Which names look like those of secrets: of fields in a config, and of environment variables. The one definition of both.

_SECRET_NAME = re.compile(
    r"(?i)(pass(word|wd|phrase|code)|(^|[-_])(pass|pwd|pw)$|secret|token|credential|auth|(^|[-_])key$|api[-_]?key|private[-_]?key|access[-_]?key"
    r"|cookie|bearer|connection[-_]?string|(^|[-_])dsn$)"
)

_HARMLESS_NAME = re.compile(r"(?i)(tokeni[sz]|max_tokens|tokens?_per|token_limit|author(?!i)|_env$|_variable$)")


# Sizes of chunks are counted in tokens: a field of this name holds a secret unless it holds one or two small numbers.
_TOKENS_WORD, _TOKEN_COUNTS = "tokens", re.compile(r"\s*\d{1,5}\s*(-\s*\d{1,5}\s*)?")


# Variables have short names in capitals, so that single words mean more there than in a config.
_SECRET_WORDS = frozenset({"KEY", "KEYS", "PAT", "PASS", "PWD", "PW", "CREDS", "WEBHOOK", "DSN", "SAS"})

_NO_SECRET_VARIABLES = frozenset({"PWD", "OLDPWD"})  # of the shell


def looks_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _HARMLESS_NAME.search(name)


def is_secret_field(name: str, value: object) -> bool:
    """Whether a field of this name holds a secret, with this value in it."""
    is_count = name == _TOKENS_WORD and isinstance(value, str | int) and bool(_TOKEN_COUNTS.fullmatch(str(value)))
    return looks_secret(name) and not is_count


def is_secret_variable(name: str) -> bool:
    """Whether an environment variable of this name holds a secret."""
    if name.upper() in _NO_SECRET_VARIABLES or _HARMLESS_NAME.search(name):
        return False
    return looks_secret(name) or not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


# Environment variables that a text names as ``${NAME}``, so that a config holds no secret.

DSN_VARIABLE = "SEARCHMARK_DSN"  # the database of a config that names none

DEFAULT_DSN = f"${{{DSN_VARIABLE}}}"

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def variable_value(name: str) -> str:
    """The value of an environment variable, which must be set: an empty key would be sent as one."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise UsageError(f"the environment variable {name} is not set, and the agent needs it (${{{name}}})")
    return value


def variables_in(value: Any) -> Iterator[str]:
    """The environment variables that plain data names."""
    if isinstance(value, str):
        yield from _VARIABLE.findall(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from variables_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from variables_in(each)


def with_variables(text: str) -> str:
    """The text with the values of the variables that it names."""
    return _VARIABLE.sub(lambda match: variable_value(match[1]), text)


def without_variables(text: str) -> str:
    """The text without the variables that it names."""
    return _VARIABLE.sub("", text)


# Values of the environment that must not be shown: agents, services and libraries may repeat them in whatever they say.

SHORTEST_UNNAMED_SECRET = 12  # characters; anything shorter occurs in digests, names and words

SHORTEST_SECRET = 4  # of a value that is known to be secret

_LONG_VALUE = 20  # characters; keys have as many, and hardly anything else that is said by chance

_SHORTEST_PIECE = 8  # of a value in base64

_LONGEST_VALUE = 1 << 16

_LONGEST_KEY = 2048  # a certificate with more is looked for in the usual forms only, which takes less time

_SHORTEST_LINE = 16


# What names of variables end in that hold no secret themselves: an address, a file, a way to do it.
_NO_SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:file|path|dir|home|sock|socket|url|uri|host|port|name|id|user|username|type|method|mode|enabled|disabled|ttl|seconds"
    r"|timeout|limit|env|variable|algorithm|version|region|provider|backend|parallelism)$|max_tokens|known_hosts"
)


_SYSTEM_VARIABLES = frozenset(
    {"HOME", "HOSTNAME", "LANG", "LOGNAME", "OLDPWD", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
)

_NUMBER = re.compile(r"[\d.,:_+-]+")

_MIXED = re.compile(r"\d.*[A-Za-z]|[A-Za-z].*\d", re.DOTALL)

_PATH = re.compile(r"~?[/\\].*|\.{1,2}[/\\].*|[A-Za-z]:[/\\].*|(?:[a-z_.-]+/)+[a-z_.-]*", re.DOTALL)

_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://\S*")

_SAFE_IN_URLS = ("", "/", "!'()*")  # whole values, paths, and what browsers leave as it is

_PERCENT = re.compile(r"%[0-9A-F]{2}")

_SPECIAL = re.compile(r"[^A-Za-z0-9_.~-]")


# Nothing; what Go, PHP, Gson and .NET escape by number in JSON; and all that is no letter, digit or the like.
_HEXED_IN_JSON = (r"(?!)", r"[<>&]", r"[<>&']", r"[<>&'=]", r"[<>&'\"]", r"[<>&'\"+`]", _SPECIAL.pattern)

_DOUBLE_QUOTES, _SINGLE_QUOTES = ('"', "&quot;", "&#34;"), ("'", "&#x27;", "&#39;", "&#039;", "&apos;")

_ALSO_IN_HTML = re.compile(r"[/`=]")  # of template engines of JavaScript

_secret_variables: set[str] = set()  # variables that agents of this process send somewhere: secret by that

_secret_addresses: set[str] = set()  # of databases, with variables as ${NAME}: the passwords in them are secret, whatever the names

_passed_variables: set[str] = set()  # variables that are passed to agents: secret where their values look like it


def register_secrets(sent_names: Iterable[str], passed_names: Iterable[str] = ()) -> None:
    """Take the values of these variables for secrets from now on, short ones too if they are among ``sent_names``.

    A variable whose name says that it is none, as that of a host or a user does, stays what it is.
    """
    _secret_variables.update(name for name in sent_names if name not in _SYSTEM_VARIABLES and not _NO_SECRET_NAME.search(name))
    _passed_variables.update(name for name in passed_names if name not in _SYSTEM_VARIABLES)


def register_addresses(addresses: Iterable[str]) -> None:
    """Take the passwords of these addresses for secrets from now on; variables in them are written ``${NAME}``."""
    _secret_addresses.update(addresses)


def registered_secrets() -> frozenset[str]:
    """The variables that were named as sent."""
    return frozenset(_secret_variables)


def environment_with(allowed_names: frozenset[str]) -> dict[str, str]:
    """The environment for a program: without what is secret, or looks so, unless it is given to the program by name."""
    return {
        name: os.environ[name]
        for name in os.environ
        if name in allowed_names or not (name in _secret_variables or is_secret_variable(name))
    }


def environment_secrets(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Every secret of the environment, in each form in which something may repeat it."""
    values = {value.strip() for name, raw in environment.items() for value in _secret_values(name, raw[:_LONGEST_VALUE])}
    sent_values = [environment.get(name, "").strip() for name in _secret_variables]
    # Variables that are not there leave nothing.
    addresses = [_VARIABLE.sub(lambda match: environment.get(match[1], "").strip(), address) for address in _secret_addresses]
    known_secrets = {*sent_values, *(password for value in (*sent_values, *addresses) for password in passwords_in(value))}
    secrets = {*filter(_is_telling, values), *(value for value in known_secrets if len(value) >= SHORTEST_SECRET)}
    return frozenset(form for value in secrets for form in forms_of(value))


def _secret_values(name: str, value: str) -> Iterator[str]:
    """What of a variable is secret: all of it, or the credentials in it."""
    yield from credentials_in(value)
    if (
        (name in _passed_variables or is_secret_variable(name))
        and not _NO_SECRET_NAME.search(name)
        and not _ADDRESS.fullmatch(value.strip())
    ):
        yield value
        yield from (line for line in _lines(value) if len(line) >= _SHORTEST_LINE and not line.startswith("-----"))


def _lines(value: str) -> Iterable[str]:
    """The lines of a key that has several; in JSON, as cloud services hand them out, line breaks are written as ``\\n``."""
    lines = value.replace("\\n", "\n").splitlines()
    return lines if len(lines) > 1 else ()


def _is_telling(value: str) -> bool:
    """Whether a value can be looked for in other texts: words, names, numbers and paths occur there without being a secret."""
    if len(value) < SHORTEST_UNNAMED_SECRET or _NUMBER.fullmatch(value) or _PATH.fullmatch(value):
        return False
    return len(value) >= _LONG_VALUE or bool(_MIXED.search(value))


@lru_cache(maxsize=256)
def forms_of(value: str) -> frozenset[str]:
    """A value in each form in which something may repeat it; capitals stay as they are."""
    content = value.encode("utf-8", "surrogateescape")
    escapes = (
        {*_forms_in_urls(value), *_forms_in_json(value), *_forms_in_html(value), repr(value)[1:-1]}
        if _SPECIAL.search(value)
        else ()
    )
    return frozenset({value, *escapes, content.hex(), content.hex().upper(), *_forms_in_base64(content)})


def _forms_in_urls(value: str) -> Iterator[str]:
    """As libraries write it in addresses and forms, with hexadecimal digits in capitals or not."""
    whole = (quote(value, safe=safe, errors="surrogateescape") for safe in _SAFE_IN_URLS)
    for form in (*whole, quote_plus(value, errors="surrogateescape")):
        yield form
        yield _PERCENT.sub(lambda match: match[0].lower(), form)


def _forms_in_json(value: str) -> Iterator[str]:
    """As libraries write it in JSON, which differ in what they escape beside quotes, backslashes and control characters."""
    for pattern in _HEXED_IN_JSON if len(value) <= _LONGEST_KEY else _HEXED_IN_JSON[:1]:
        for only_ascii in (False, True):
            for digits in ("04x", "04X"):
                needs_number = re.compile(f"{pattern}|[^\\x00-\\x7e]" if only_ascii else pattern)
                units = [_utf16_escape(char, digits) if needs_number.fullmatch(char) else _json_escape(char) for char in value]
                yield "".join(units)
                yield "".join(["\\/" if unit == "/" else unit for unit in units])


def _json_escape(char: str) -> str:
    return json.dumps(char, ensure_ascii=False)[1:-1]


def _utf16_escape(char: str, digits: str) -> str:
    """A character as JSON has it by number: in UTF-16, so that some are two."""
    content = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(content[at : at + 2], 'big'):{digits}}" for at in range(0, len(content), 2))


def _forms_in_html(value: str) -> Iterator[str]:
    """With entities by name, where there are such, or by number."""
    text = escape(value, quote=False)
    yield text
    for double in _DOUBLE_QUOTES:
        for single in _SINGLE_QUOTES:
            markup = text.replace('"', double).replace("'", single)
            yield markup
            yield _ALSO_IN_HTML.sub(lambda match: f"&#x{ord(match[0]):X};", markup)
            yield markup.replace("+", "&#43;")
    for form in ("&#{};", "&#x{:x};", "&#x{:X};"):
        yield "".join([form.format(ord(char)) if _SPECIAL.match(char) else char for char in value])


def _forms_in_base64(value: bytes) -> Iterator[str]:
    """What is the same in the base64 of every text that holds the value, as ``user:password`` does in basic authentication."""
    for before in range(3):
        base64_text = b64encode(b"\0" * before + value).decode()
        whole = (before + len(value)) * 8 // 6  # characters that no later byte changes
        inner = base64_text[ceil(before * 8 / 6) : whole]
        if len(inner) >= _SHORTEST_PIECE:
            yield inner


# Secrets that a config may hold: found by their names and looks, and kept out of everything that is written.

_LOOKS_SECRET = re.compile(
    r"^(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|hf_|xox[abprs]-|AKIA|ASIA|AIza|eyJ[\w-]+\.)\S*$|^(?i:bearer|basic|token) \S+$"
)

_AT_ONCE = 1 << 16  # texts that are looked through together: bounds the memory that this takes

_SHORTEST_TORN, _LONG_SECRET = 12, 20  # characters: a text that was cut may hold so many of a secret that has so many

T = TypeVar("T")


def without_secrets(value: Any, name: str = "") -> Any:
    """A config as it may be written down: what is named or looks like a secret is removed, whatever is below it too."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and is_only_variables(value):
        return value
    if is_secret_field(name, value):
        return REMOVED_MARK
    if isinstance(value, Mapping):
        return {str(key): without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [REMOVED_MARK if is_secret_flag(before) else without_secrets(each, name) for before, each in _with_previous(value)]
    return _without_secret_parts(value) if isinstance(value, str) else value


def _without_secret_parts(text: str) -> str:
    return REMOVED_MARK if _LOOKS_SECRET.search(text) else without_credentials(text)


def _with_previous(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip((None, *values), values, strict=False)


def secrets_in(value: Any, name: str = "", *, below: bool = False) -> frozenset[str]:
    """The texts that `without_secrets` would remove, to look for them elsewhere."""
    return frozenset(text for text in _secrets(value, name, below) if len(text) >= SHORTEST_SECRET)


def _secrets(value: Any, name: str, below: bool) -> Iterator[str]:
    secret = below or is_secret_field(name, value)
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _secrets(each, str(key), secret)
    elif isinstance(value, list | tuple):
        for before, each in _with_previous(value):
            yield from _secrets(each, name, secret or is_secret_flag(before))
    elif isinstance(value, bool) or value is None or (isinstance(value, str) and is_only_variables(value)):
        return
    elif secret or (isinstance(value, str) and _LOOKS_SECRET.search(value)):
        yield str(value)
    elif isinstance(value, str):
        yield from credentials_in(value)


@dataclass(frozen=True)
class Scrubber:
    """Removes secrets from whatever it is given; ``exact`` are whole texts that become something else, or stay what they are.

    The secrets are the longest first, and ``signs`` the shortest list of texts one of which is in every text that holds a secret.
    """

    secrets: tuple[str, ...]
    signs: tuple[str, ...]
    exact: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(secrets: frozenset[str]) -> Scrubber:
        return _scrubber(secrets)

    def clean(self, value: T) -> T:
        """The same with every secret replaced, wherever it occurs, also where only its beginning or its end is left."""
        clean_value: T = self._clean(value)
        return clean_value

    def concerns(self, text: str) -> bool:
        """Whether a text may hold a secret or a piece of one."""
        for sign in self.signs:  # noqa: SIM110  # asked for every text of every answer; a generator takes twice as long
            if sign in text:
                return True
        return False

    def concerns_any(self, texts: Iterable[str]) -> bool:
        """Whether one of many texts may, which are looked through many at once."""
        rest = iter(texts)
        return any(self.concerns("\n".join(some)) for some in iter(lambda: list(islice(rest, _AT_ONCE)), []))

    def _clean(self, value: Any) -> Any:
        """The very same object where nothing had to be replaced, which is nearly always."""
        if value is None or value == () or isinstance(value, float | int):  # most fields of most records
            return value
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, Mapping):
            return self._clean_mapping(value) if value else value
        if isinstance(value, list | tuple):
            return self._clean_items(value) if self._may_concern(value) else value
        if is_dataclass(value) and not isinstance(value, type):
            before = {each.name: getattr(value, each.name) for each in fields(value)}
            after = {name: self._clean(each) for name, each in before.items()}
            return value if all(after[name] is before[name] for name in before) else replace(value, **after)
        return value

    def _clean_mapping(self, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """No entry is lost: keys that were different stay different."""
        keys, values = [self._clean(key) for key in value], [self._clean(each) for each in value.values()]
        if _overlaps(keys, value) and _overlaps(values, value.values()):
            return value
        return dict(zip(keys if _overlaps(keys, value) else with_distinct_names(keys), values, strict=True))

    def _clean_items(self, values: Sequence[Any]) -> Any:
        clean_values = [self._clean(each) for each in values]
        if _overlaps(clean_values, values):
            return values
        return values._make(clean_values) if hasattr(values, "_make") else type(values)(clean_values)  # type: ignore[call-arg]  # of a list or a tuple

    def _may_concern(self, values: Sequence[Any]) -> bool:
        """Whether one of these needs a look; many texts are looked through at once, since an answer may have thousands of hits."""
        if all(isinstance(each, str) for each in values):
            return self.concerns("\n".join(values))
        return not all(isinstance(each, float | int | None) for each in values)

    def _clean_text(self, text: str) -> str:
        if not self.concerns(text):
            return text
        if text in self.exact:
            return self.exact[text]
        for secret in self.secrets:
            text = text.replace(secret, REMOVED_MARK)
        for secret in (each for each in self.secrets if len(each) >= _LONG_SECRET):
            text = _remove_torn_secret(text, secret, REMOVED_MARK)
            text = _remove_torn_secret(text[::-1], secret[::-1], REMOVED_MARK[::-1])[::-1]
        return text


@lru_cache(maxsize=8)
def _scrubber(secrets: frozenset[str]) -> Scrubber:
    whole = tuple(sorted(secrets, key=lambda secret: (-len(secret), secret)))
    signs = {
        part
        for each in whole
        for part in ((each[:_SHORTEST_TORN], each[-_SHORTEST_TORN:]) if len(each) >= _LONG_SECRET else (each,))
    }
    return Scrubber(whole, tuple(sorted(signs)))


def scrub(value: T, secrets: frozenset[str]) -> T:
    """The same with every one of these texts replaced, wherever it occurs, also where only its beginning or its end is left."""
    return Scrubber.of(secrets).clean(value) if secrets else value


def with_distinct_names(names: Iterable[T]) -> list[T | str]:
    """The names, a number behind those that have become the same."""
    names_used: dict[T | str, None] = {}
    for name in names:
        free = (name if number == 1 else f"{name} ({number})" for number in count(1))
        names_used[next(each for each in free if each not in names_used)] = None
    return list(names_used)


def _overlaps(some: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))


def without_measured_texts(secrets: frozenset[str], texts: Iterable[str]) -> frozenset[str]:
    """The secrets that are no part of what is measured: ids and queries must not change because a variable says the same."""
    haystack = "\n".join(texts)
    return frozenset(secret for secret in secrets if secret not in haystack)


def _remove_torn_secret(text: str, secret: str, mark: str) -> str:
    """The text without beginnings of a secret: long messages are cut before they come here."""
    parts, start = [], 0
    while (begin := text.find(secret[:_SHORTEST_TORN], start)) >= 0:
        parts += [text[start:begin], mark]
        start = next(
            (begin + at for at, letter in enumerate(secret) if text[begin + at : begin + at + 1] != letter), begin + len(secret)
        )
    return "".join([*parts, text[start:]]) if parts else text


# Strangers' words as a part of our sentences: secrets are removed before anything is cut, since half of one is not found.

_CHARACTERS_READ = 1 << 16  # characters at each end; whatever is cut beyond them is far from what is shown

_FIRST_WORD = re.compile(r"\A\S{0,2048}\s+(?=\S)")


def excerpt_of(text: str, width: int) -> str:
    """Both ends of a text, without secrets."""
    ends = text if len(text) <= 2 * _CHARACTERS_READ else f"{text[:_CHARACTERS_READ]}...{text[-_CHARACTERS_READ:]}"
    return shortened(without_secret_values(ends), width)


def end_of(text: str, width: int) -> str:
    """The end of a text, without secrets."""
    clean = without_secret_values(text[-_CHARACTERS_READ:])
    return clean if len(clean) <= width else f"...{clean[3 - width :]}"


def without_secret_values(text: str) -> str:
    """A text without what is a secret of the environment or looks like one."""
    return scrub(without_credentials(text), environment_secrets())


def output_end(output: bytes, most: int) -> str:
    """What was kept of the output of a program, the last ``most`` bytes: without its first word if that may be half of one."""
    text = output.decode("utf-8", "replace")
    return _FIRST_WORD.sub("", text) if len(output) >= most else text


def database_address(dsn: str) -> str:
    if dsn == DEFAULT_DSN or not dsn.strip():  # without any, the library would take one that the machine has
        with suppress(UsageError):
            return with_variables(DEFAULT_DSN)
        raise UsageError(f"no database is named: give --dsn, set the environment variable {DSN_VARIABLE}, or the option dsn")
    return with_variables(dsn)
