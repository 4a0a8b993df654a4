"""What the shop sells."""

from larder.models import Product


def list_products(connection, category=None, limit=20, offset=0) -> list[Product]:
    """One page of the visible products, by name."""
    query = "SELECT * FROM products WHERE visible = 1"
    values = []
    if category:
        query += " AND category = ?"
        values.append(category)
    query += " ORDER BY name LIMIT ? OFFSET ?"
    return [Product.from_row(row) for row in connection.execute(query, [*values, limit, offset])]


def get_product(connection, product_id: int) -> Product | None:
    row = connection.execute("SELECT * FROM products WHERE id = ?", [product_id]).fetchone()
    return Product.from_row(row) if row else None


def find_products(connection, words: str) -> list[Product]:
    """Products whose name holds the words."""
    pattern = f"%{words}%"
    rows = connection.execute("SELECT * FROM products WHERE visible = 1 AND name LIKE ?", [pattern])
    return [Product.from_row(row) for row in rows]


def categories(connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT DISTINCT category FROM products ORDER BY category")]


def import_products(connection, rows) -> int:
    """Take over the supplier's list: name, price, category, weight."""
    count = 0
    for row in rows:
        connection.execute(
            "INSERT INTO products (name, price_cents, category, weight_grams) VALUES (?, ?, ?, ?)",
            [row["name"], int(float(row["price"]) * 100), row["category"], int(row["weight"])],
        )
        count += 1
    return count
