"""Orders and what becomes of them."""

from datetime import datetime

from larder.catalogue import get_product
from larder.models import Line, Order

OPEN, PAID, PACKED, DELIVERED, CANCELLED = "open", "paid", "packed", "delivered", "cancelled"


class UnknownOrder(Exception):
    """There is no order with this number."""


def create_order(connection, customer_id: int, lines: list[Line], total_cents: int, slot: str | None) -> int:
    cursor = connection.execute(
        "INSERT INTO orders (customer_id, status, total_cents, slot, created_at) VALUES (?, ?, ?, ?, ?)",
        [customer_id, OPEN, total_cents, slot, datetime.now().isoformat()],
    )
    for line in lines:
        connection.execute(
            "INSERT INTO order_lines VALUES (?, ?, ?, ?)",
            [cursor.lastrowid, line.product.id, line.quantity, line.product.price_cents],
        )
    return cursor.lastrowid


def load_order(connection, order_id: int) -> Order:
    row = connection.execute("SELECT * FROM orders WHERE id = ?", [order_id]).fetchone()
    if row is None:
        raise UnknownOrder(order_id)
    order = Order(row["id"], row["customer_id"], row["status"], row["total_cents"], row["slot"])
    for line in connection.execute("SELECT * FROM order_lines WHERE order_id = ?", [order_id]):
        order.lines.append(Line(get_product(connection, line["product_id"]), line["quantity"]))
    return order


def set_status(connection, order_id: int, status: str) -> None:
    connection.execute("UPDATE orders SET status = ? WHERE id = ?", [status, order_id])


def orders_of(connection, customer_id: int) -> list[Order]:
    """What a customer has ordered so far."""
    rows = connection.execute("SELECT id FROM orders WHERE customer_id = ?", [customer_id])
    return [load_order(connection, row["id"]) for row in rows.fetchall()]
