"""A small WSGI application: finds the view for a path and turns its answer into a response."""

import json
import re
from http import HTTPStatus
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from larder.database import connect
from larder.settings import from_environment
from larder.web import views
from larder.web.errors import response_for

ROUTES = [
    ("GET", re.compile(r"/products"), views.products),
    ("GET", re.compile(r"/products/(\d+)"), views.product),
    ("GET", re.compile(r"/basket"), views.basket),
    ("POST", re.compile(r"/basket/(\d+)"), views.add_to_basket),
    ("POST", re.compile(r"/checkout"), views.checkout),
    ("POST", re.compile(r"/login"), views.login),
]


class Request:
    """What a view may know about a request."""

    def __init__(self, environ, settings, connection) -> None:
        self.method = environ["REQUEST_METHOD"]
        self.path = environ["PATH_INFO"]
        self.query = {name: values[0] for name, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
        self.settings = settings
        self.connection = connection
        cookie = SimpleCookie(environ.get("HTTP_COOKIE", ""))
        self.session = cookie["session"].value if "session" in cookie else ""
        length = int(environ.get("CONTENT_LENGTH") or 0)
        self.body = json.loads(environ["wsgi.input"].read(length) or "{}") if length else {}


def dispatch(request: Request) -> tuple[int, object]:
    for method, pattern, view in ROUTES:
        found = pattern.fullmatch(request.path)
        if found and method == request.method:
            return view(request, *found.groups())
    return 404, {"error": "not found"}


def application(environ, start_response):
    settings = from_environment()
    request = Request(environ, settings, connect(settings.database))
    try:
        status, answer = dispatch(request)
    except Exception as error:
        status, answer = response_for(error)
    start_response(f"{status} {HTTPStatus(status).phrase}", [("Content-Type", "application/json")])
    return [json.dumps(answer).encode()]
