"""Customers: signing up, and changing one's own data."""

from datetime import datetime

from larder.accounts.passwords import hash_password
from larder.models import Customer


class EmailTaken(Exception):
    """Somebody has signed up with this address before."""


def sign_up(connection, email: str, name: str, password: str) -> int:
    if connection.execute("SELECT 1 FROM customers WHERE email = ?", [email]).fetchone():
        raise EmailTaken(email)
    cursor = connection.execute(
        "INSERT INTO customers (email, name, password, created_at) VALUES (?, ?, ?, ?)",
        [email, name, hash_password(password), datetime.now().isoformat()],
    )
    return cursor.lastrowid


def load_customer(connection, customer_id: int) -> Customer | None:
    row = connection.execute("SELECT * FROM customers WHERE id = ?", [customer_id]).fetchone()
    return Customer(row["id"], row["email"], row["name"], row["postcode"] or "") if row else None


def change_address(connection, customer_id: int, postcode: str) -> None:
    connection.execute("UPDATE customers SET postcode = ? WHERE id = ?", [postcode, customer_id])
