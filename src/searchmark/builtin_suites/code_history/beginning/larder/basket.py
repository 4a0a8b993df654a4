"""The basket of one visitor, kept by session."""

from larder.catalogue import get_product
from larder.models import Line


class Basket:
    """What a visitor wants to buy; nothing is reserved before checkout."""

    def __init__(self, connection, session: str) -> None:
        self._connection = connection
        self._session = session

    def lines(self) -> list[Line]:
        rows = self._connection.execute("SELECT product_id, quantity FROM basket_lines WHERE session = ?", [self._session])
        return [Line(get_product(self._connection, row["product_id"]), row["quantity"]) for row in rows]

    def add(self, product_id: int, quantity: int = 1) -> None:
        self._connection.execute(
            "INSERT INTO basket_lines VALUES (?, ?, ?) "
            "ON CONFLICT (session, product_id) DO UPDATE SET quantity = quantity + excluded.quantity",
            [self._session, product_id, quantity],
        )

    def set_quantity(self, product_id: int, quantity: int) -> None:
        self._connection.execute(
            "UPDATE basket_lines SET quantity = ? WHERE session = ? AND product_id = ?",
            [quantity, self._session, product_id],
        )

    def remove(self, product_id: int) -> None:
        self._connection.execute(
            "DELETE FROM basket_lines WHERE session = ? AND product_id = ?", [self._session, product_id]
        )

    def clear(self) -> None:
        self._connection.execute("DELETE FROM basket_lines WHERE session = ?", [self._session])

    def total_cents(self) -> int:
        return sum(line.total_cents for line in self.lines())

    def weight_grams(self) -> int:
        return sum(line.product.weight_grams * line.quantity for line in self.lines())
