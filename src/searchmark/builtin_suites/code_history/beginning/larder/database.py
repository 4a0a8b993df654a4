"""One SQLite file holds everything."""

import sqlite3
from contextlib import contextmanager

SCHEMA = """
CREATE TABLE IF NOT EXISTS products (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT, price_cents INTEGER NOT NULL,
    category TEXT, vat TEXT DEFAULT 'reduced', weight_grams INTEGER DEFAULT 0, visible INTEGER DEFAULT 1);
CREATE TABLE IF NOT EXISTS stock (product_id INTEGER PRIMARY KEY, on_hand INTEGER NOT NULL, reserved INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS customers (
    id INTEGER PRIMARY KEY, email TEXT UNIQUE, name TEXT, password TEXT, postcode TEXT, created_at TEXT);
CREATE TABLE IF NOT EXISTS sessions (token TEXT PRIMARY KEY, customer_id INTEGER, expires_at TEXT);
CREATE TABLE IF NOT EXISTS basket_lines (session TEXT, product_id INTEGER, quantity INTEGER, PRIMARY KEY (session, product_id));
CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER, status TEXT, total_cents INTEGER, slot TEXT, created_at TEXT);
CREATE TABLE IF NOT EXISTS order_lines (order_id INTEGER, product_id INTEGER, quantity INTEGER, price_cents INTEGER);
CREATE TABLE IF NOT EXISTS vouchers (code TEXT PRIMARY KEY, percent INTEGER, expires_at TEXT, uses_left INTEGER);
"""


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def create_tables(connection: sqlite3.Connection) -> None:
    connection.executescript(SCHEMA)


@contextmanager
def transaction(connection: sqlite3.Connection):
    """All or nothing."""
    connection.execute("BEGIN")
    try:
        yield connection
    except Exception:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
