"""Where an answer points to: followed within one service, and to another, which would get the query, only if that is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from searchmark.services.own_keys import origin

if TYPE_CHECKING:
    import httpx

_SEE_OTHER = 303
_TOLD = ("Accept", "Accept-Encoding", "User-Agent")


def redirected(request: httpx.Request, response: httpx.Response, *, elsewhere: bool = False) -> httpx.Request | None:
    """The request that follows; None if the answer points nowhere, or to another scheme, host or port.

    With ``elsewhere`` it may be another host, over https, which gets no more than the address and the user agent. After
    301 and 302 within one service it is the same request, as HTTP allows: a GET would lose the query in its body.
    """
    import httpx

    if not response.has_redirect_location:
        return None
    try:
        url = request.url.join(response.headers["location"])
    except httpx.InvalidURL:
        return None
    if origin(str(url)) != origin(str(request.url)):
        if not elsewhere or url.scheme != "https" or url.userinfo:
            return None
        return httpx.Request("GET", url, headers={name: request.headers[name] for name in _TOLD if name in request.headers})
    sees = response.status_code == _SEE_OTHER
    headers = [(name, value) for name, value in request.headers.raw if not sees or not name.lower().startswith(b"content-")]
    return httpx.Request("GET" if sees else request.method, url, headers=headers, content=None if sees else request.content)
