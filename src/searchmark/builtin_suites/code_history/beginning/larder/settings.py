"""Settings, read from the environment once."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    database: str = "larder.sqlite"
    secret: str = "change me"
    currency: str = "EUR"
    page_size: int = 20
    session_hours: int = 24
    smtp_host: str = "localhost"
    smtp_port: int = 25
    sender_address: str = "shop@larder.example"
    gateway_url: str = "https://pay.example/v1"
    gateway_key: str = ""


def from_environment(environ=None) -> Settings:
    """Variables are named like the fields, with LARDER_ in front."""
    environ = os.environ if environ is None else environ
    values = {}
    for name, field in Settings.__dataclass_fields__.items():
        text = environ.get(f"LARDER_{name.upper()}")
        if text is not None:
            values[name] = int(text) if field.type is int else text
    return Settings(**values)
