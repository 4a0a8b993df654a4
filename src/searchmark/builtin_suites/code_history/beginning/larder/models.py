"""Records that the parts of the shop hand to each other."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Product:
    id: int
    name: str
    price_cents: int
    description: str = ""
    category: str = ""
    vat: str = "reduced"
    weight_grams: int = 0

    @classmethod
    def from_row(cls, row) -> "Product":
        return cls(
            row["id"],
            row["name"],
            row["price_cents"],
            row["description"] or "",
            row["category"] or "",
            row["vat"],
            row["weight_grams"],
        )


@dataclass(frozen=True)
class Line:
    """So many of one product."""

    product: Product
    quantity: int

    @property
    def total_cents(self) -> int:
        return self.product.price_cents * self.quantity


@dataclass(frozen=True)
class Customer:
    id: int
    email: str
    name: str
    postcode: str = ""


@dataclass
class Order:
    id: int
    customer_id: int
    status: str
    total_cents: int
    slot: str | None = None
    lines: list[Line] = field(default_factory=list)
