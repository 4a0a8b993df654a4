"""From a commit message to a query: what nobody would type is removed."""

from __future__ import annotations

import re
from functools import cached_property

LONGEST_BODY = 60  # words behind the first sentence that a query may have: more is an essay

_LONGEST_MESSAGE = 8_000  # characters that are looked at

_FEWEST_WORDS = 3  # of a sentence


# Patterns take time that grows with the length of a message and no faster. A run of blanks or letters in front of what is
# looked for may only be entered at its start, hence ``(?<!...)``; where a run can be given up piece by piece, it has a bound.
# Capitals, a hyphen and a number, and yet no ticket.
_NO_TICKETS = (
    "UTF|ISO|SHA|RFC|PEP|CVE|IEEE|ANSI|HTTP|IPV|MD|AES|RSA|ES|ECMA|BASE|INT|UINT|FLOAT|TLS|SSL|PY|PYTHON|UCS|CP|KOI|GB|EUC|BIG"
    "|WINDOWS|LATIN|HMAC|ED|EC|SQL|ARM|PKCS|BCP|STD|PRE|RC|BETA|ALPHA"
)


_ID = rf"""(?:(?:[\w.-]+/[\w.-]+)?\#\d+ | gh-?\s?\#?\d+ | (?:issues?|tickets?|bugs?|pr|pull\ request)\s?\#?\d+ | !\d+
             | (?-i:(?!(?:{_NO_TICKETS})-)[A-Z][A-Z0-9]+-\d+\b))"""

_IDS = rf"{_ID}(?:(?:\s*(?:,|and|&|/|\+)\s*|\s+){_ID})*"


_RELATION = r"""(?:close[sd]?|closing|fix(?:e[sd])?|fixing|resolve[sd]?|ref(?:s|er(?:s|ence[sd]?)?)?|see(?:\ also)?|re
                |addresse?[sd]?|part\ of|relate[sd]\ to|follow[- ]?up\ (?:to|for|on|of)|implement(?:s|ed)?|from|in|per|via|for|of
                |after|since|due\ to|by)"""


# "Fixed #123 -- summary", "Fix #123: summary", "#123 summary", "[ABC-1] summary"; security numbers only before a dash.
_ID_IN_FRONT = re.compile(
    rf"^(?:{_RELATION}\s+)?(?:[\[(]?{_IDS}[\])]?(?:\s+--?\s+|\s*[:;,–—-]+\s*|\s+|$) | CVE-\d+-\d+\s+--\s+)",
    re.IGNORECASE | re.VERBOSE,
)


_ID_IN_BRACKETS = re.compile(
    rf"""(?<!\s)\s*[\[(](?:(?:should|may|might|partly|partially|hopefully)\s+)?(?:{_RELATION}:?\s+)?{_IDS}
         (?:\s+from\s+[^()\[\]]*)?[\])]""",
    re.IGNORECASE | re.VERBOSE,
)


_ID_IN_CLAUSE = re.compile(
    rf"(?:^|(?<![\s,;:.–—-])[\s,;:.–—-]+)(?:and\s+)?\b{_RELATION}:?\s+{_IDS}(?=[\s.,;:)]|$)", re.IGNORECASE | re.VERBOSE
)

_ID_ALONE = re.compile(r"(?<![\w/&#])#\d+\b|(?<![\w-])gh-\d+\b", re.IGNORECASE)


_CONVENTIONAL = re.compile(
    r"^(?P<type>feat|feature|fix|bugfix|hotfix|perf|ref|refactor|refac|docs?|style|tests?|chore|build|ci|deps|improvement|enhancement|security"
    r"|release|wip)(?:\((?P<scope>[^()]{1,60})\))?!?:\s+",
    re.IGNORECASE,
)

_TAGS_IN_FRONT = re.compile(r"^(?:\[[^\]]{1,30}\]\s*)+:?\s*")

_EMOJI = re.compile("^(?::[a-z0-9_+-]+:\\s*)+|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+\\s*")

_CI_COMMAND = re.compile(r"\[(?:skip ci|ci skip|no ci|skip actions|ci full|doc build)[^\]]*\]", re.IGNORECASE)

_URL = re.compile(r"<?\b(?:https?|ftp|git)://[^\s>)\]]+>?")

_MARKDOWN_LINK = re.compile(r"!?\[([^\]]{0,300})\]\([^)]{0,1000}\)")


_HASH = re.compile(
    r"(?:\b(?:in|since|from|of|by|to|commit|rev|revision|changeset|after|with|fixed)\s+){0,8}"
    r"\b(?:(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}|r\d{3,6}|rev(?:ision)?\.?\s\d+)\b"
    r"|(?<![\w\])])\[\d{3,6}\]"
)

_MAIL = re.compile(r"(?:<|(?<![\w.+-]))[\w.+-]+@[\w-]+\.[\w.-]+>?")

_MENTION = re.compile(r"(?<![\w`.])@[A-Za-z][\w-]{1,38}(?![\w.(/])")


_EMPTY_BRACKETS = re.compile(
    r"(?<![\w\])])\(\s*+(?:(?:see|by|via|from|cf|ref|in|patch|thanks|should|also)\b\.?\s*+){0,3}(?:[,;]\s*+)?\)|(?<!\w)\[\s*\]|<\s*>"
)

_SPACE_BEFORE_STOP = re.compile(r"(?<!\s)\s+([.,;:!?)])(?=\s|$)")


_DANGLING_END = re.compile(
    r"""(?<![\s,;:.–—-])[\s,;:.–—-]+(?:as\s+)?(?:(?:introduced|caused|proposed|suggested|reported|requested|discussed|described
        |mentioned|contributed|follow(?:ing|s)?(?:[- ]?up)?)\b\s*)?
        (?:(?:to|in|of|from|by|with|for|at|on|since|see|also|per|and|or|refs?|due|after)\b\s*){0,3}\s*\.?$""",
    re.IGNORECASE | re.VERBOSE,
)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


_TRAILER = re.compile(
    r"^(?:[A-Z][A-Za-z]*(?:-[A-Za-z]+)+|Cc|CC|Bug|Fixes|Closes|Refs?|Issue|Ticket|PR|Link|Change|Test ?Plan|Reviewers?|Author"
    r"|Reported|Backport|Tested|Differential Revision|Summary|Subscribers)\s?:(?:\s|$)"
    r"|^\(cherry picked from |^git-svn-id:|^fbshipit-source-id:|^--HG--|^branch ?: |^signed-off",
)

_BULLET = re.compile(r"^\s*(?:[*•+-]|\d{1,2}[.)])\s+")

_NO_PROSE = re.compile(r"^(?:>|\||```|#{1,6}\s|---|===|\+\+\+|@@|<!--|Traceback|\s*File \"|\s{4,}|\t|\$ |E\s{3,}|\.\. )")


_ABOUT_PEOPLE = re.compile(
    r"""^(?:(?:many\ |big\ |special\ )?thanks?\b | thank\ you\b | kudos\b | credits?\b | co-?authored
        | (?:original\ |initial\ )?patch\b | (?:reported|reviewed|suggested|contributed|ok'?d|written)\ by\b
        | based\ on\ (?:a\ |the\ )?(?:patch|work) | regression\ (?:in|from)\b | follow-?up\b | backport | refs?\b | fixes\b
        | closes\b | see\b | ticket\b | bug\ in\b | per\b | via\b | squashed\b | cherry-?picked | requires\b | depends\ on\b
        | this\ (?:is\ a\ )?backport | supersedes\b | same\ as\b | also\ see\b)""",
    re.IGNORECASE | re.VERBOSE,
)


_PEOPLE_AT_THE_END = re.compile(
    r"""(?<![\s,;.(–—-])[\s,;.(–—-]+(?:(?:many\ |big\ )?thanks?(?:\ to|\ for)?\b | thank\ you\b
        | patch\ (?:contributed\ )?(?:by|from|due\ to)\b
        | (?:reported|contributed)\ by\b | courtesy\ of\b | kudos\ to\b | based\ on\ (?:a\ )?patch\b)[^.]{0,200}\.?$""",
    re.IGNORECASE | re.VERBOSE,
)


# What colleagues say to each other, and sentences that lead to a list or to code, which are gone.
_CHATTER = re.compile(
    r"""^(?:p\.?\s?p?\.?s\b | btw\b | fwiw\b | imho?\b | afaik\b | anyway | hopefully\b | sorry\b | oops | whoops | sadly\b
        | finally, | not\ sure\b | maybe\b | perhaps\b | someone\b | let\ me\b | feel\ free | note\ to\ self | todo\b | fixme\b
        | yay\b | hooray | another\ \w+\ bites | this\ is\ (?:awesome|great|cool|ugly|a\ hack|a\ breaking\ change|a\ follow)
        | we're\ done\b | this\ (?:commit|change|patch|pr)?\s*(?:is\ twofold|changes\ (?:a\ few|some|several)\ things)
        | as\ (?:discussed|agreed|suggested|requested|mentioned)\b | tests?\ (?:added|included|pass)
        | (?:added|adds|add|updated)\ (?:some\ |more\ )?tests?\W*$ | (?:bump|update)\ (?:the\ )?changelog
        | (?:namely|for\ example|e\.g)\W*$)
      | (?<![\w/.'`"-])(?:i|i'm|i've|i'd|i'll|my|me)(?![\w/.'`"-]) | [:;]-?[)(DPp](?:\s|$) | \b(?:lol|haha|thx)\b | !{2,}
      | \b(?:(?:the|as|like)\ follow(?:s|ing)|(?:see|described|mentioned|listed|shown)\ (?:below|above))\b | :$ | \bawesome\b""",
    re.IGNORECASE | re.VERBOSE,
)

_SMILE = re.compile(r"\s+[:;]-?[)(DPp](?=\s|$)")

_SIGNS_OF_PEOPLE = ("hank", "atch", "by ", "ourtesy", "udos")

_NO_QUERY = (_ABOUT_PEOPLE, _CHATTER, _HASH, _URL, _ID_ALONE)  # a sentence of the body with one of these is left out

_DIGIT = re.compile(r"\d")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`(])")

_WORD = re.compile(r"[^\W\d_][\w'.-]*")


class Query:
    """What becomes of a message; ``type`` and ``scope`` are those of a conventional commit."""

    def __init__(self, message: str) -> None:
        self.head, self._body = split_message(message[:_LONGEST_MESSAGE])

    @cached_property
    def _sentences(self) -> list[str]:
        return sentences_of(self.head)

    @cached_property
    def subject(self) -> str:
        """The first sentence of which something is left when it is cleaned."""
        return next(filter(None, map(clean_subject, self._sentences)), "")

    @cached_property
    def clean(self) -> str:
        """The first sentence and as many more, whole ones, as a query can bear."""
        text, words = self.subject, 0
        for sentence in _prose_sentences(self._sentences[1:], self._body):
            if sentence == text:
                continue
            words += len(sentence.split())
            if words > LONGEST_BODY:
                break
            text = f"{text}{'' if text.endswith(('.', '!', '?', ':')) or not text else '.'} {sentence}".strip()
        return text

    @cached_property
    def _conventional(self) -> re.Match[str] | None:
        return _CONVENTIONAL.match(_TAGS_IN_FRONT.sub("", self.head)) if ":" in self.head else None

    @property
    def type(self) -> str | None:
        return self._conventional["type"].lower() if self._conventional else None

    @property
    def scope(self) -> str | None:
        return self._conventional["scope"] if self._conventional else None


def sentences_of(text: str) -> list[str]:
    return _SENTENCE_END.split(text) if ". " in text else [text]


def split_message(message: str) -> tuple[str, str]:
    """Subject and body. The subject is the first paragraph, up to the first bullet or trailer in it."""
    subject, _, body = message.strip().partition("\n")
    if body and body[0] != "\n":
        subject, body = _rest_of_subject(subject, body)
    if subject.endswith(("…", "...")) and body.lstrip().startswith(("…", "...")):  # a title too long for one line
        rest, _, body = body.lstrip().partition("\n")
        subject = subject.rstrip("….") + rest.lstrip("….")
    return subject.strip(), body


def _rest_of_subject(first: str, text: str) -> tuple[str, str]:
    lines = text.split("\n")
    end = next((row for row, line in enumerate(lines) if _ends_subject(line)), len(lines))
    return " ".join(" ".join([first, *lines[:end]]).split()), "\n".join(lines[end:])


def _ends_subject(line: str) -> bool:
    return not line.strip() or bool(_BULLET.match(line) or _TRAILER.match(line) or _NO_PROSE.match(line))


def clean_subject(text: str) -> str:
    """One sentence without tickets, prefixes, thanks and links."""
    if "[" in text:
        text = _TAGS_IN_FRONT.sub("", _CI_COMMAND.sub(" ", text).strip())
    if text[:1] == ":" or not text.isascii():
        text = _EMOJI.sub("", text)
    for _ in range(2):  # "fix: #12 - text" and "#12 fix: text"
        shorter = text.strip()
        if _DIGIT.search(shorter):
            shorter = _ID_IN_FRONT.sub("", shorter, count=1)
        if ":" in shorter:
            shorter = _CONVENTIONAL.sub("", shorter, count=1)
        if shorter == text:
            break
        text = shorter
    cleaner = _clean_text(_without_people(_SMILE.sub("", text) if ":" in text or ";" in text else text))
    return cleaner if len(cleaner) > 1 else ""


def _without_people(text: str) -> str:
    return _PEOPLE_AT_THE_END.sub("", text) if any(sign in text for sign in _SIGNS_OF_PEOPLE) else text


def _clean_text(text: str) -> str:
    """The text without links, tickets, addresses and hashes; each is looked for only where its sign is."""
    if not text.isprintable():
        text = _CONTROL.sub(" ", text)
    if "](" in text:
        text = _MARKDOWN_LINK.sub(r"\1", text)
    if _DIGIT.search(text):
        text = _ID_IN_BRACKETS.sub(" ", text)
    whole = text
    if "://" in text:
        text = _URL.sub(" ", text)
    if _DIGIT.search(text):
        text = _without_numbers(text)
    if "@" in text:
        text = _MENTION.sub(" ", _MAIL.sub(" ", text))
    if "(" in text or "[" in text or "<" in text:
        text = _EMPTY_BRACKETS.sub(" ", text)
    if text != whole:  # without the words that led to what is gone
        text = _DANGLING_END.sub("", text)
    if "  " in text or " ." in text or " ," in text or not text.isascii():
        text = _SPACE_BEFORE_STOP.sub(r"\1", " ".join(text.split()))
    return text.strip(" \t\n,;:–—-*").removesuffix("..").strip()


def _without_numbers(text: str) -> str:
    for pattern in (_ID_IN_CLAUSE, _ID_ALONE, _HASH):
        text = pattern.sub(" ", text)
    return text


def _prose_sentences(first: list[str], body: str) -> list[str]:
    """The sentences of the prose of a message: no code, no lists, no trailers, nothing about people and history."""
    sentences = []
    for paragraph in (first, *map(_SENTENCE_END.split, _paragraphs(body))):
        for sentence in paragraph:
            if (
                _ABOUT_PEOPLE.match(sentence)
                or _CHATTER.search(sentence)
                or _HASH.search(sentence)
                or _URL.search(sentence)
                or _ID_ALONE.search(sentence)
            ):
                continue
            text = _clean_text(_without_people(sentence))
            if len(_WORD.findall(text)) >= _FEWEST_WORDS:
                sentences.append(text)
    return sentences


def _paragraphs(body: str) -> list[str]:
    """The paragraphs of prose; code fences, lists, quotes and everything from a trailer on are left out."""
    paragraphs: list[list[str]] = [[]]
    in_code = False
    for line in map(str.rstrip, body.split("\n")):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            if _TRAILER.match(line):
                break
            if line:
                paragraphs[-1].append(line)
            elif paragraphs[-1]:
                paragraphs.append([])
    return [
        " ".join(map(str.strip, paragraph))
        for paragraph in paragraphs
        if paragraph and not any(_BULLET.match(line) or _NO_PROSE.match(line) for line in paragraph)
    ]
