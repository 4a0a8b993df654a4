from larder.basket import Basket
from larder.database import connect, create_tables


def shop():
    connection = connect(":memory:")
    create_tables(connection)
    connection.execute("INSERT INTO products (name, price_cents) VALUES ('Flour', 129), ('Yeast', 89)")
    return connection


def test_lines_of_the_same_product_are_added_up():
    basket = Basket(shop(), "s")
    basket.add(1)
    basket.add(1, 2)
    assert [line.quantity for line in basket.lines()] == [3]
    assert basket.total_cents() == 387


def test_what_is_removed_is_gone():
    basket = Basket(shop(), "s")
    basket.add(2)
    basket.remove(2)
    assert basket.lines() == []
