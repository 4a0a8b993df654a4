"""Passwords are kept as salted hashes."""

import hashlib
import secrets

ROUNDS = 50_000


def hash_password(password: str) -> str:
    salt = secrets.token_hex(8)
    return f"{salt}${_digest(password, salt)}"


def matches(password: str, kept: str) -> bool:
    salt, digest = kept.split("$")
    return _digest(password, salt) == digest


def _digest(password: str, salt: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), ROUNDS).hex()
