"""What an MCP tool answers, taken apart: hits from structured content, JSON in text, text, or links to resources."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from searchmark.agents.hits import FoundHit
from searchmark.agents.outside.result_format import ResultFormat
from searchmark.agents.outside.results import ReadAnswer, ResultReader, UnreadableAnswer
from searchmark.services.excerpts import excerpt_of

if TYPE_CHECKING:
    from mcp_types import CallToolResult

WRAPPED = "result"  # what SDKs call an answer that is no object, since structured content has to be one
_SHOWN = 300
_LIKE_AN_ID = re.compile(r"(?=.*\w)\S*[^\s:]")  # no blank in it and no colon at its end, as sentences and headings have
_ADVICE = "say with results how hits are read: a pattern, or format: lines if every line is an id"


@dataclass(frozen=True)
class ToolAnswer:
    """The parts of a result that say something.

    ``texts``: of text blocks that hold any. ``uris``: of links and embedded resources. ``read``: all text that a model would
    read. ``others``: kinds of blocks that are none of these.
    """

    texts: Sequence[str]
    uris: Sequence[str]
    read: str
    structured: Any
    meta: Mapping[str, Any]
    others: Sequence[str]

    @classmethod
    def of(cls, result: CallToolResult) -> ToolAnswer:
        texts: list[str] = []
        uris: list[str] = []
        read: list[str] = []
        others: list[str] = []
        for block in result.content:
            if block.type == "text":
                texts.extend([block.text] if block.text.strip() else [])
                read.append(block.text)
            elif block.type == "resource_link":
                uris.append(str(block.uri))
                read.append(str(block.uri))
            elif block.type == "resource":
                uris.append(str(block.resource.uri))
                read.append(getattr(block.resource, "text", ""))
            else:
                others.append(block.type)
        structured = result.structured_content
        if not read and structured is not None:  # nothing else is there to be read
            read.append(json.dumps(structured, ensure_ascii=False))
        answer = cls(texts, uris, "\n".join(read), structured, result.meta or {}, others)
        if result.is_error:
            raise UnreadableAnswer(f"the tool reports an error: {excerpt_of(' '.join(answer.read.split()), _SHOWN) or '(no text)'}")
        return answer


class AnswerReader:
    """Reads the answers of one tool as its config says, or as they are."""

    def __init__(self, wanted: ResultFormat) -> None:
        self._wanted = wanted
        self._as_json, self._as_text = ResultReader(wanted, "json"), ResultReader(wanted, "lines")
        self._free = wanted.format is None and wanted.pattern is None  # then the answer itself shows what it is

    def read(self, answer: ToolAnswer) -> ReadAnswer:
        """The hits, and what the server says of their price: in the answer, or in its ``_meta``."""
        found, data = self._hits(answer)
        about = {**(data if isinstance(data, Mapping) else {}), "_meta": answer.meta}
        cost, tokens = self._as_json.price(about)
        return replace(found, cost=cost, tokens=tokens)

    def _hits(self, answer: ToolAnswer) -> tuple[ReadAnswer, Any]:
        """The hits, and the data that they were in."""
        if answer.texts and self._as_text.says_nothing("\n".join(answer.texts)):
            return ReadAnswer(()), answer.structured
        if self._as_json.format == "json" and answer.structured is not None:
            data = self._unwrapped(answer.structured)
            if isinstance(data, list) or self._wanted.hits is not None or not answer.texts:
                return self._as_json.read_data(data), answer.structured
        if self._free and self._wanted.hits is None and self._wanted.id is None and answer.uris:
            return ReadAnswer([FoundHit(path_of(uri)) for uri in answer.uris]), None
        return self._of_texts(answer)

    def _unwrapped(self, data: Any) -> Any:
        alone = isinstance(data, Mapping) and list(data) == [WRAPPED]
        return data[WRAPPED] if alone and self._wanted.hits is None else data

    def _of_texts(self, answer: ToolAnswer) -> tuple[ReadAnswer, Any]:
        if not answer.texts and (answer.others or answer.uris or answer.structured is not None):
            kinds = ", ".join(dict.fromkeys(answer.others)) or ("resources" if answer.uris else "structured content")
            raise UnreadableAnswer(f"the answer has no text to read hits from; it has {kinds}")
        if not answer.texts and self._as_text.says_nothing(""):
            return ReadAnswer(()), None
        if not answer.texts:
            raise UnreadableAnswer("the answer is empty; if that means no hits, say so with results.nothing: ^$")
        if self._as_text.format == "json":
            return self._of_json([_loaded(text) for text in answer.texts])
        return self._of_free_texts(answer.texts) if self._free else (self._as_text.read("\n".join(answer.texts)), None)

    def _of_free_texts(self, texts: Sequence[str]) -> tuple[ReadAnswer, Any]:
        """The hits in texts that nothing was said about: JSON, or lines of which each looks like an id."""
        json_like = [text for text in texts if _is_json_like(text)]
        if len(json_like) == len(texts):
            return self._of_json([_list_or_object(text) for text in texts])
        if json_like:
            raise UnreadableAnswer(f"the answer has JSON and other text: {_shown(' '.join(texts))}; {_ADVICE}")
        lines = [line for text in texts for line in text.split("\n") if line.strip() and not self._as_text.says_nothing(line)]
        odd = next((line for line in lines if not _LIKE_AN_ID.fullmatch(line.strip())), None)
        if odd is not None:
            raise UnreadableAnswer(f"a line of the answer does not look like an id: {_shown(odd)}; {_ADVICE}")
        return self._as_text.read("\n".join(texts)), None

    def _of_json(self, blocks: Sequence[Any]) -> tuple[ReadAnswer, Any]:
        """The hits in blocks of JSON: one that holds them all, or several that are a hit, or hold some, each."""
        if len(blocks) == 1:
            return self._as_json.read_data(blocks[0]), blocks[0]
        if self._wanted.hits is not None or all(isinstance(block, list) for block in blocks):
            return ReadAnswer([hit for block in blocks for hit in self._as_json.read_data(block).hits]), None
        return ReadAnswer([self._as_json.read_entry(block) for block in blocks]), None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswer(f"the answer is not JSON ({error})", text) from error


def _is_json_like(text: str) -> bool:
    """Whether a text is JSON, or begins as a list or an object does and may be cut off."""
    return text.lstrip()[:1] in ("[", "{") or _is_json(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _list_or_object(text: str) -> Any:
    data = _loaded(text)
    if not isinstance(data, list | dict):
        raise UnreadableAnswer(f"the answer is JSON without hits: {_shown(text)}; {_ADVICE}")
    return data


def _shown(text: str) -> str:
    return repr(excerpt_of(text.strip(), _SHOWN))


def path_of(uri: str) -> str:
    """The path in a file's address; any other address is an id as it is."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
