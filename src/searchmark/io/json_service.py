"""One question to a language model, over OpenAI's chat API or Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

from searchmark.services.budget import Budget
from searchmark.services.exchange import ApiKey, ClientOptions, Reply, Request, Unusable
from searchmark.services.json_client import DEFAULTS, JsonClient
from searchmark.services.own_keys import key_variable_for
from searchmark.services.response_cache import ResponseCache

T = TypeVar("T")


@dataclass(frozen=True)
class ChatOptions:
    """Which model is asked, and where.

    ``base_url`` and ``key_variable`` are those of the API's own service if they are not given. Its key goes to no other
    address: there ``key_variable`` has to be named; an empty one sends no key. ``temperature``: None leaves it to the model,
    since some refuse any. ``max_answer_tokens`` bounds one answer; Anthropic's API demands a bound, which is 1024 if none is
    given.
    """

    model: str
    api: Literal["openai", "anthropic"] = "openai"
    base_url: str | None = None
    key_variable: str | None = None
    temperature: float | None = 0.0
    max_answer_tokens: int | None = None

    def resolved(self) -> ChatOptions:
        """The same with the defaults of its API filled in."""
        api = APIS[self.api]
        base_url = api.base_url if self.base_url is None else self.base_url
        return replace(
            self,
            base_url=base_url,
            key_variable=key_variable_for(base_url, self.key_variable, api.base_url, api.key_variable) or "",
            max_answer_tokens=api.max_answer_tokens if self.max_answer_tokens is None else self.max_answer_tokens,
        )


class ChatApi:
    """How one kind of service is asked, and where its answer has the text."""

    base_url: str
    key_variable: str
    max_answer_tokens: int | None = None
    path: str
    headers: ClassVar[Mapping[str, str]] = {}

    def key(self, variable: str) -> ApiKey:
        """How the key is sent, if there is one: a server of one's own needs none."""
        raise NotImplementedError

    def body(self, options: ChatOptions, system: str, question: str) -> dict[str, Any]:
        raise NotImplementedError

    def text(self, answer: Any) -> str:
        """The text of an answer; `Unusable` if it has none or is not complete."""
        raise NotImplementedError


class OpenAiApi(ChatApi):
    """``POST /chat/completions``, as OpenAI, Ollama, vLLM and many others have it."""

    base_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    path = "/chat/completions"

    def key(self, variable: str) -> ApiKey:
        return ApiKey(variable, required=False)

    def body(self, options: ChatOptions, system: str, question: str) -> dict[str, Any]:
        bound = {} if options.max_answer_tokens is None else {"max_completion_tokens": options.max_answer_tokens}
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        return {"model": options.model, "messages": messages, **bound, **_temperature(options)}

    def text(self, answer: Any) -> str:
        try:
            choice = answer["choices"][0]
            text, end = choice["message"]["content"], choice.get("finish_reason")
            refusal = choice["message"].get("refusal")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise Unusable("gave an answer that is not a chat completion: it has no choices[0].message.content") from None
        if refusal or end not in (None, "stop"):
            raise Unusable(_unfinished("refusal" if refusal else end))
        if not isinstance(text, str):
            raise Unusable("gave an answer that has no text")
        return text


class AnthropicApi(ChatApi):
    """``POST /messages``, version 2023-06-01."""

    base_url = "https://api.anthropic.com/v1"
    key_variable = "ANTHROPIC_API_KEY"
    max_answer_tokens = 1024
    path = "/messages"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}

    def key(self, variable: str) -> ApiKey:
        return ApiKey(variable, header="x-api-key", prefix="", required=False)

    def body(self, options: ChatOptions, system: str, question: str) -> dict[str, Any]:
        messages = [{"role": "user", "content": question}]
        bound = {"max_tokens": options.max_answer_tokens}
        return {"model": options.model, "system": system, "messages": messages, **bound, **_temperature(options)}

    def text(self, answer: Any) -> str:
        try:
            texts = [block["text"] for block in answer["content"] if block["type"] == "text"]
            end, whole = answer["stop_reason"], "".join(texts)
        except (KeyError, TypeError):
            raise Unusable("gave an answer that is not a message: it has no content blocks or no stop_reason") from None
        if end not in ("end_turn", "stop_sequence"):
            raise Unusable(_unfinished(end))
        if not texts:
            raise Unusable("gave an answer that has no text")
        return whole


def _temperature(options: ChatOptions) -> dict[str, Any]:
    return {} if options.temperature is None else {"temperature": options.temperature}


def _unfinished(end: object) -> str:
    """Why an answer ended before it was complete."""
    if end in ("max_tokens", "length"):
        return "cut its answer off; raise max_answer_tokens"
    if end in ("refusal", "content_filter"):
        return "refused to answer"
    return f"did not finish its answer ({end!r})"


APIS: dict[str, ChatApi] = {"openai": OpenAiApi(), "anthropic": AnthropicApi()}


class ChatModel:
    """A language model behind an address."""

    def __init__(
        self,
        options: ChatOptions,
        client: ClientOptions = DEFAULTS,
        budget: Budget | None = None,
        cache: ResponseCache | None = None,
    ) -> None:
        self._options, self._api = options.resolved(), APIS[options.api]
        key = self._api.key(self._options.key_variable) if self._options.key_variable else None
        asked = replace(client, key=key, headers={**self._api.headers, **client.headers})
        self._client = JsonClient(self._options.base_url or self._api.base_url, asked, budget=budget, cache=cache)

    def ask(self, system: str, question: str, read: Callable[[str], T]) -> Reply[T]:
        """What ``read`` makes of the text that answers a question; it raises `Unusable` for a text that will not do."""
        request = Request(path=self._api.path, body=self._api.body(self._options, system, question))
        return self._client.send(request, lambda answer: read(self._api.text(answer)))

    def close(self) -> None:
        self._client.close()
