"""Who is logged in: a random token in a cookie."""

import secrets
from datetime import datetime, timedelta

from larder.accounts.passwords import matches


class WrongLogin(Exception):
    """No such customer, or another password."""


def log_in(connection, email: str, password: str, hours: int, now: datetime) -> str:
    """A new token for a customer who knows the password."""
    row = connection.execute("SELECT id, password FROM customers WHERE email = ?", [email]).fetchone()
    if row is None or not matches(password, row["password"]):
        raise WrongLogin
    token = secrets.token_urlsafe(16)
    expires = now + timedelta(hours=hours)
    connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", [token, row["id"], expires.isoformat()])
    return token


def customer_of(connection, token: str, now: datetime) -> int | None:
    row = connection.execute("SELECT customer_id, expires_at FROM sessions WHERE token = ?", [token]).fetchone()
    if row is None or row["expires_at"] < now.isoformat():
        return None
    return row["customer_id"]


def log_out(connection, token: str) -> None:
    connection.execute("DELETE FROM sessions WHERE token = ?", [token])
