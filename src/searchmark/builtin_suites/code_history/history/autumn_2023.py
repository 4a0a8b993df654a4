"""July to November 2023: a cache, sales reports, staff, and the catalogue as a package."""

from searchmark.builtin_suites.code_history.history.people import BOT, JONAS, MIRA, PRIYA, TOMASZ
from searchmark.builtin_suites.code_history.steps import after, append, commit, edit, everywhere, move, new

VIEWS = "larder/web/views.py"
APPLICATION = "larder/web/application.py"
ERRORS = "larder/web/errors.py"
BASKET = "larder/basket.py"
DATABASE = "larder/database.py"
SESSIONS = "larder/accounts/sessions.py"
CLI = "larder/cli.py"

COMMITS = (
    commit("2023-07-05", PRIYA, "Serve the list of products from memory for a minute",
        new("larder/cache.py", '''
"""Answers that may be a little old."""

from time import monotonic


class Cache:
    """Keeps values for some seconds."""

    def __init__(self, seconds: float, clock=monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._kept = {}

    def get(self, key, make):
        """The kept value, or a new one."""
        found = self._kept.get(key)
        if found is None or self._clock() - found[0] > self._seconds:
            found = self._kept[key] = (self._clock(), make())
        return found[1]
'''),
        edit(VIEWS, "logins = Throttle()\n", "logins = Throttle()\npages = Cache(seconds=60)\n"),
        edit(VIEWS, "from larder.checkout", "from larder.cache import Cache\nfrom larder.checkout"),
        edit(VIEWS, "        found = catalogue.list_products(request.connection, category, limit, offset)\n", '''\
        key = (category, limit, offset)
        found = pages.get(key, lambda: catalogue.list_products(request.connection, category, limit, offset))
''')),
    commit("2023-07-10", JONAS, "A new price shows up at once, and not after a minute",
        append("larder/cache.py", '''
product_pages = Cache(seconds=60)
'''),
        edit("larder/cache.py", "    def get(self", "    def clear(self) -> None:\n        self._kept.clear()\n\n    def get(self"),
        edit(VIEWS, "pages = Cache(seconds=60)\n", ""),
        edit(VIEWS, "import Cache\n", "import product_pages\n"),
        edit(VIEWS, "pages.get(key", "product_pages.get(key"),
        append("larder/catalogue.py", '''
def change_price(connection, product_id: int, price_cents: int) -> None:
    connection.execute("UPDATE products SET price_cents = ? WHERE id = ?", [price_cents, product_id])
    product_pages.clear()
'''),
        edit("larder/catalogue.py", "from larder.models", "from larder.cache import product_pages\nfrom larder.models")),
    commit("2023-07-12", TOMASZ, """
Revert "Sessions live on as long as they are used"

Every request writes to the database now, and Saturday was terrible.
""",
        edit(SESSIONS, '''\
    longer = now + timedelta(hours=24)
    connection.execute("UPDATE sessions SET expires_at = ? WHERE token = ?", [longer.isoformat(), token])
''', "")),
    commit("2023-07-13", TOMASZ, "Prolong a session that is in use, but at most once an hour",
        edit(SESSIONS, '''\
        return None
    return row["customer_id"]
''', '''\
        return None
    longer = (now + timedelta(hours=24)).isoformat()
    if row["expires_at"] < (now + timedelta(hours=23)).isoformat():
        connection.execute("UPDATE sessions SET expires_at = ? WHERE token = ?", [longer, token])
    return row["customer_id"]
''')),
    commit("2023-07-18", PRIYA, "Sales by day and category for the buyers",
        new("larder/reports/sales.py", '''
"""What was sold."""

import csv


def sales_by_day(connection, first: str, last: str) -> list[tuple[str, str, int]]:
    """Day, category and turnover in cents."""
    rows = connection.execute(
        "SELECT date(orders.created_at), products.category, SUM(order_lines.quantity * order_lines.price_cents) "
        "FROM orders JOIN order_lines ON order_id = orders.id JOIN products ON products.id = product_id "
        "WHERE date(orders.created_at) BETWEEN ? AND ? GROUP BY 1, 2 ORDER BY 1, 2",
        [first, last],
    )
    return [tuple(row) for row in rows]


def write_csv(file, rows) -> None:
    writer = csv.writer(file)
    writer.writerow(["day", "category", "turnover"])
    writer.writerows((day, category, f"{amount / 100:.2f}") for day, category, amount in rows)
'''),
        edit(CLI, "    options = parser.parse_args", '''\
    report = commands.add_parser("sales", help="what was sold, as CSV")
    report.add_argument("first")
    report.add_argument("last")
    report.add_argument("file")
    options = parser.parse_args'''),
        edit(CLI, '    elif options.command == "work":', '''\
    elif options.command == "sales":
        with open(options.file, "w", newline="") as file:
            write_csv(file, sales_by_day(connection, options.first, options.last))
    elif options.command == "work":'''),
        edit(CLI, "from larder.settings", "from larder.reports.sales import sales_by_day, write_csv\nfrom larder.settings")),
    commit("2023-07-20", JONAS, "Orders that were called off do not count as turnover",
        edit("larder/reports/sales.py", '"WHERE date', '''"WHERE orders.status != 'cancelled' AND date''')),
    commit("2023-08-02", TOMASZ, "profiles: refuse a postcode that is none",
        edit("larder/accounts/profiles.py", "def sign_up", '''\
class InvalidPostcode(Exception):
    """Five digits are needed."""


def sign_up'''),
        edit("larder/accounts/profiles.py", "    connection.execute(\"UPDATE customers SET postcode", '''\
    postcode = postcode.replace(" ", "")
    if len(postcode) != 5 or not postcode.isdigit():
        raise InvalidPostcode(postcode)
    connection.execute("UPDATE customers SET postcode'''),
        edit(ERRORS, "import EmailTaken", "import EmailTaken, InvalidPostcode"),
        after(ERRORS, "RESPONSES = {\n", '    InvalidPostcode: (400, "a postcode has five digits"),\n')),
    commit("2023-08-09", MIRA, "Heavy orders pay for every started ten kilos above twenty",
        edit("larder/shipping/rates.py", "        fee += HEAVY_SURCHARGE\n", "        fee += HEAVY_SURCHARGE * (1 + (weight_grams - HEAVY_FROM_GRAMS) // HEAVY_STEP_GRAMS)\n"),
        edit("larder/shipping/rates.py", "HEAVY_SURCHARGE = 250\n", "HEAVY_SURCHARGE = 250\nHEAVY_STEP_GRAMS = 10000\n")),
    commit("2023-08-16", PRIYA, "Add tests for delivery fees",
        new("tests/test_rates.py", '''
from larder.shipping.rates import delivery_fee


def test_heavy_orders_cost_more():
    assert delivery_fee("10115", 31000, 4000) == 390 + 2 * 250
''')),
    commit("2023-08-22", JONAS, """
What a visitor had chosen is lost at login

The basket hangs on the session, and logging in starts a new one. Carry the lines over.
""",
        edit(BASKET, "    def clear(self)", '''\
    def take_over(self, other_session: str) -> None:
        """Add what is in the basket of another session of the same person."""
        for line in Basket(self._connection, other_session).lines():
            self.add(line.product.id, line.quantity)
        Basket(self._connection, other_session).clear()

    def clear(self)'''),
        edit(VIEWS, '    return 200, {"session": token}', "    Basket(request.connection, token).take_over(request.session)\n    return 200, {\"session\": token}")),
    commit("2023-09-04", TOMASZ, "dispatch: answer 405 if the path is known and the method is not",
        edit(APPLICATION, '''\
    for method, pattern, view in ROUTES:
        found = pattern.fullmatch(request.path)
        if found and method == request.method:
            return view(request, *found.groups())
    return 404, {"error": "not found"}
''', '''\
    known = False
    for method, pattern, view in ROUTES:
        found = pattern.fullmatch(request.path)
        if found and method == request.method:
            return view(request, *found.groups())
        known = known or bool(found)
    return (405, {"error": "not allowed"}) if known else (404, {"error": "not found"})
''')),
    commit("2023-09-06", PRIYA, """
Broken JSON is the client's mistake, not ours

The pager went off at night because somebody's script sent half a body.
""",
        edit(APPLICATION, '''\
    request = Request(environ, settings, connect(settings.database))
    try:
        status, answer = dispatch(request)
    except Exception as error:
        status, answer = response_for(error)
    finally:
        request.connection.close()
''', '''\
    connection = connect(settings.database)
    try:
        status, answer = dispatch(Request(environ, settings, connection))
    except Exception as error:
        status, answer = response_for(error)
    finally:
        connection.close()
'''),
        edit(ERRORS, "import logging\n", "import json\nimport logging\n"),
        after(ERRORS, "RESPONSES = {\n", '    json.JSONDecodeError: (400, "the body is not valid JSON"),\n')),
    commit("2023-09-12", MIRA, "Give the people in the warehouse accounts with more rights",
        new("larder/accounts/permissions.py", '''
"""Who may do what."""

ROLES = {"customer": set(), "packer": {"see_orders", "pack"}, "manager": {"see_orders", "pack", "refund", "edit_catalogue"}}


class Forbidden(Exception):
    """Not with this account."""


def role_of(connection, customer_id: int) -> str:
    row = connection.execute("SELECT role FROM customers WHERE id = ?", [customer_id]).fetchone()
    return row["role"] if row else "customer"


def require(connection, customer_id: int, right: str) -> None:
    if right not in ROLES[role_of(connection, customer_id)]:
        raise Forbidden(right)
'''),
        edit(DATABASE, "postcode TEXT, created_at TEXT);", "postcode TEXT, role TEXT DEFAULT 'customer', created_at TEXT);"),
        edit(ERRORS, "from larder.accounts.profiles", "from larder.accounts.permissions import Forbidden\nfrom larder.accounts.profiles"),
        after(ERRORS, "RESPONSES = {\n", '    Forbidden: (403, "not with this account"),\n')),
    commit("2023-09-14", MIRA, "Only staff may look into the orders of others",
        edit(VIEWS, "from larder.accounts import profiles, sessions", "from larder.accounts import permissions, profiles, sessions"),
        edit(VIEWS, "def login(request)", '''\
def order(request, order_id):
    customer_id = sessions.customer_of(request.connection, request.session, datetime.now())
    found = orders.load_order(request.connection, int(order_id))
    if found.customer_id != customer_id:
        permissions.require(request.connection, customer_id, "see_orders")
    return 200, {"order": found.id, "status": found.status, "total_cents": found.total_cents}


def login(request)'''),
        after(APPLICATION, "views.cancel),\n", '    ("GET", re.compile(r"/orders/(\\d+)"), views.order),\n')),
    commit("2023-09-20", BOT, "Sort imports", edit(CLI, "import csv\nimport time\n", "import csv\nimport time  # isort: keep\n")),
    commit("2023-10-05", JONAS, """
Warn the buyers when something runs low

SHOP-131
""",
        append("larder/stock.py", '''
def running_low(connection, fewest: int = 5) -> list[tuple[str, int]]:
    """Products with fewer pieces than that, and how many there are."""
    rows = connection.execute(
        "SELECT name, on_hand - reserved FROM stock JOIN products ON products.id = product_id WHERE on_hand - reserved < ?", [fewest]
    )
    return [tuple(row) for row in rows]
'''),
        edit("larder/mail/templates.py", '    "welcome"', '    "running_low": ("Running low", "Please order more of:\\n\\n{names}\\n"),\n    "welcome"'),
        edit("larder/jobs/cleanup.py", "def clean_up", '''\
def warn_buyers(connection, mailer, address: str) -> None:
    low = running_low(connection)
    if low:
        mailer.send(address, "running_low", names="\\n".join(f"{name} ({left})" for name, left in low))


def clean_up'''),
        edit("larder/jobs/cleanup.py", "import delete_abandoned\n", "import delete_abandoned\nfrom larder.stock import running_low\n")),
    commit("2023-10-11", TOMASZ, """
Keep the price that was agreed on

Old orders showed today's prices, so nothing added up on the invoice.
""",
        edit("larder/orders.py", '''\
        order.lines.append(Line(get_product(connection, line["product_id"]), line["quantity"]))
''', '''\
        product = replace(get_product(connection, line["product_id"]), price_cents=line["price_cents"])
        order.lines.append(Line(product, line["quantity"]))
'''),
        edit("larder/orders.py", "from datetime import datetime\n", "from dataclasses import replace\nfrom datetime import datetime\n")),
    commit("2023-10-17", PRIYA, "An order with something that is no longer sold cannot be opened",
        edit("larder/catalogue.py", '''\
def get_product(connection, product_id: int) -> Product | None:
    row = connection.execute("SELECT * FROM products WHERE id = ? AND visible = 1", [product_id]).fetchone()
''', '''\
def get_product(connection, product_id: int, hidden: bool = False) -> Product | None:
    row = connection.execute("SELECT * FROM products WHERE id = ? AND visible >= ?", [product_id, int(not hidden)]).fetchone()
'''),
        edit("larder/orders.py", 'get_product(connection, line["product_id"])', 'get_product(connection, line["product_id"], hidden=True)')),
    commit("2023-10-24", PRIYA, "Turn the catalogue into a package and move search into it",
        move("larder/catalogue.py", "larder/catalogue/products.py"),
        move("larder/search.py", "larder/catalogue/search.py"),
        new("larder/catalogue/__init__.py", '"""What the shop sells, and finding it."""'),
        everywhere("from larder.catalogue import", "from larder.catalogue.products import"),
        edit(VIEWS, "from larder import catalogue, orders, search\n", "from larder import orders\n"),
        edit(VIEWS, "from larder.checkout", "from larder.catalogue import products as catalogue\nfrom larder.catalogue import search\nfrom larder.checkout"),
        edit(CLI, "from larder import catalogue\n", "from larder.catalogue import products as catalogue\n")),
    commit("2023-10-26", JONAS, "import: a new product could not be found until the next day",
        edit("larder/catalogue/products.py", "        connection.execute(\n            \"INSERT INTO products", "        cursor = connection.execute(\n            \"INSERT INTO products"),
        edit("larder/catalogue/products.py", "        count += 1\n", "        index_product(connection, get_product(connection, cursor.lastrowid))\n        count += 1\n"),
        edit("larder/catalogue/products.py", "from larder.models", "from larder.catalogue.search import index_product\nfrom larder.models")),
    commit("2023-11-06", MIRA, "Version 0.5.0",
        edit("larder/__init__.py", "0.4.0", "0.5.0"), edit("pyproject.toml", "0.4.0", "0.5.0"),
        edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 0.5.0\n\n- Accounts for staff, sales reports, warnings.\n")),
)  # fmt: skip
