"""How much of everything there is."""


class OutOfStock(Exception):
    """More was asked for than there is."""

    def __init__(self, product_id: int, available: int) -> None:
        super().__init__(f"only {available} left of product {product_id}")
        self.product_id = product_id
        self.available = available


def available(connection, product_id: int) -> int:
    row = connection.execute("SELECT on_hand, reserved FROM stock WHERE product_id = ?", [product_id]).fetchone()
    return row["on_hand"] - row["reserved"] if row else 0


def reserve(connection, product_id: int, quantity: int) -> None:
    """Set goods aside for an order that is being paid."""
    left = available(connection, product_id)
    if left < quantity:
        raise OutOfStock(product_id, left)
    connection.execute("UPDATE stock SET reserved = reserved + ? WHERE product_id = ?", [quantity, product_id])


def release(connection, product_id: int, quantity: int) -> None:
    connection.execute("UPDATE stock SET reserved = reserved - ? WHERE product_id = ?", [quantity, product_id])


def ship(connection, product_id: int, quantity: int) -> None:
    """Goods have left the house."""
    connection.execute(
        "UPDATE stock SET on_hand = on_hand - ?, reserved = reserved - ? WHERE product_id = ?",
        [quantity, quantity, product_id],
    )


def receive(connection, product_id: int, quantity: int) -> None:
    connection.execute(
        "INSERT INTO stock VALUES (?, ?, 0) ON CONFLICT (product_id) DO UPDATE SET on_hand = on_hand + excluded.on_hand",
        [product_id, quantity],
    )
