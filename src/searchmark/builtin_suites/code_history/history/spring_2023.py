"""January to April 2023: the shop opens, and its first customers find out what is wrong with it."""

from searchmark.builtin_suites.code_history.history.people import BOT, JONAS, MIRA, PRIYA, TOMASZ
from searchmark.builtin_suites.code_history.steps import after, append, commit, edit, everywhere, new

CHECKOUT = "larder/checkout.py"
VIEWS = "larder/web/views.py"
APPLICATION = "larder/web/application.py"
ERRORS = "larder/web/errors.py"
BASKET = "larder/basket.py"

COMMITS = (
    commit("2023-01-11", JONAS, """
Fix rounding in cents() for prices with a binary fraction

19.99 became 1998 because the product was cut off instead of rounded.
""",
        edit("larder/money.py", "return int(float(text) * 100)", "return round(float(text) * 100)"),
        edit("tests/test_money.py", "import format_amount", "import cents, format_amount"),
        append("tests/test_money.py", "def test_prices_are_rounded():\n    assert cents('19.99') == 1999")),
    commit("2023-01-12", PRIYA, "Something that is no longer sold must not break the basket page",
        edit(BASKET, """\
        return [Line(get_product(self._connection, row["product_id"]), row["quantity"]) for row in rows]
""", """\
        found = [(get_product(self._connection, row["product_id"]), row["quantity"]) for row in rows.fetchall()]
        return [Line(product, quantity) for product, quantity in found if product is not None]
""")),
    commit("2023-01-16", MIRA, "feat(catalogue): hide the page of a product that is switched off",
        edit("larder/catalogue.py", "FROM products WHERE id = ?", "FROM products WHERE id = ? AND visible = 1")),
    commit("2023-01-18", JONAS, """
Goods stay blocked after a card was refused

Whoever mistypes a card number makes the shelf look empty for everybody else.
""",
        edit(CHECKOUT, """\
        except PaymentDeclined:
            orders.set_status""", """\
        except PaymentDeclined:
            for line in lines:
                stock.release(self._connection, line.product.id, line.quantity)
            orders.set_status""")),
    commit("2023-01-20", BOT, "Bump gunicorn from 20.1.0 to 21.2.0", edit("pyproject.toml", "20.1.0", "21.2.0")),
    commit("2023-01-23", TOMASZ, """
Compare password hashes in constant time

Signed-off-by: Tomasz Okafor <tomasz@larder.example>
""",
        edit("larder/accounts/passwords.py", "import hashlib\n", "import hashlib\nimport hmac\n"),
        edit("larder/accounts/passwords.py", "_digest(password, salt) == digest", "hmac.compare_digest(_digest(password, salt), digest)")),
    commit("2023-01-25", PRIYA, "An order of exactly fifty euros should travel for free",
        edit("larder/shipping/rates.py", "goods_cents > FREE", "goods_cents >= FREE")),
    commit("2023-01-27", MIRA, """
Show page links in the product list (#14)

The web site could not know whether there is another page.
""",
        after("larder/catalogue.py", "from larder.models import Product\n", '''

def count_products(connection, category=None) -> int:
    """How many products a list of all pages holds."""
    wanted = "visible = 1 AND (? IS NULL OR category = ?)"
    return connection.execute(f"SELECT COUNT(*) FROM products WHERE {wanted}", [category, category]).fetchone()[0]
'''),
        edit(VIEWS, "import page_of", "import page_links, page_of"),
        edit(VIEWS, '''\
    if "q" in request.query:
        found = catalogue.find_products(request.connection, request.query["q"])
    else:
        found = catalogue.list_products(request.connection, request.query.get("category"), limit, offset)
    return 200, [as_json(product) for product in found]
''', '''\
    category, links = request.query.get("category"), {}
    if "q" in request.query:
        found = catalogue.find_products(request.connection, request.query["q"])
    else:
        found = catalogue.list_products(request.connection, category, limit, offset)
        total = catalogue.count_products(request.connection, category)
        links = page_links(request.path, offset // limit + 1, total, limit)
    return 200, {"items": [as_json(product) for product in found], "links": links}
'''),
        edit("docs/api.md", "page by page", "page by page, with links to the neighbours")),
    commit("2023-02-01", JONAS, "fix typo in the docs", edit("docs/install.md", "a long random text", "a long, random text")),
    commit("2023-02-02", TOMASZ, """
Negative quantities let people shop for free

A customer got three euros back at the till by "buying" minus one ham.

Fixes #17
""",
        edit(BASKET, "class Basket:\n", '''\
MOST_OF_ONE = 99


class InvalidQuantity(Exception):
    """Nobody can buy so many."""


def checked(quantity) -> int:
    if not isinstance(quantity, int) or not 0 < quantity <= MOST_OF_ONE:
        raise InvalidQuantity(quantity)
    return quantity


class Basket:
'''),
        edit(BASKET, "[self._session, product_id, quantity],\n", "[self._session, product_id, checked(quantity)],\n"),
        edit(BASKET, "[quantity, self._session, product_id]", "[checked(quantity), self._session, product_id]"),
        edit(ERRORS, "from larder.checkout", "from larder.basket import InvalidQuantity\nfrom larder.checkout"),
        after(ERRORS, "RESPONSES = {\n", '    InvalidQuantity: (400, "not a quantity that can be bought"),\n')),
    commit("2023-02-06", PRIYA, "gateway: give up when the card processor keeps us waiting",
        edit("larder/payments/gateway.py", "class PaymentDeclined", "TIMEOUT_SECONDS = 10\n\n\nclass PaymentDeclined"),
        edit("larder/payments/gateway.py", "urlopen(request)", "urlopen(request, timeout=TIMEOUT_SECONDS)")),
    commit("2023-02-08", MIRA, """
Throttle logins from one address

Somebody is trying lists of stolen passwords on us. Five wrong ones in ten minutes, and the door stays shut for a while.
""",
        new("larder/web/throttling.py", '''
"""Slowing down those who try too often."""

from collections import defaultdict
from time import monotonic

ATTEMPTS, WINDOW_SECONDS = 5, 600


class TooManyAttempts(Exception):
    """Come back later."""


class Throttle:
    """Counts attempts by key within a sliding window."""

    def __init__(self, attempts: int = ATTEMPTS, window: float = WINDOW_SECONDS, clock=monotonic) -> None:
        self._attempts = attempts
        self._window = window
        self._clock = clock
        self._times = defaultdict(list)

    def check(self, key: str) -> None:
        now = self._clock()
        self._times[key] = [time for time in self._times[key] if now - time < self._window]
        if len(self._times[key]) >= self._attempts:
            raise TooManyAttempts(key)

    def count(self, key: str) -> None:
        self._times[key].append(self._clock())
'''),
        edit(ERRORS, "\nRESPONSES", "from larder.web.throttling import TooManyAttempts\n\nRESPONSES"),
        after(ERRORS, "RESPONSES = {\n", '    TooManyAttempts: (429, "too many attempts, try again later"),\n'),
        after(APPLICATION, '        self.path = environ["PATH_INFO"]\n', '        self.address = environ.get("REMOTE_ADDR", "")\n'),
        edit(VIEWS, "page_links, page_of\n", "page_links, page_of\nfrom larder.web.throttling import Throttle\n\nlogins = Throttle()\n"),
        edit(VIEWS, '''\
    token = sessions.log_in(request.connection, request.body["email"], request.body["password"], hours, datetime.now())
''', '''\
    logins.check(request.address)
    try:
        token = sessions.log_in(request.connection, request.body["email"], request.body["password"], hours, datetime.now())
    except sessions.WrongLogin:
        logins.count(request.address)
        raise
''')),
    commit("2023-02-10", JONAS, "Totals in mails always claim to be euros",
        edit("larder/mail/templates.py", 'format_amount(values["total"])', 'format_amount(values["total"], values.pop("currency", "EUR"))'),
        edit(CHECKOUT, "order_id=order_id, total=total)", "order_id=order_id, total=total, currency=self._gateway.currency)"),
        edit("larder/payments/gateway.py", "        self._currency = currency", "        self.currency = currency"),
        edit("larder/payments/gateway.py", '{"currency": self._currency', '{"currency": self.currency')),
    commit("2023-02-13", TOMASZ, "refactor: build the till of a request in one place",
        edit(VIEWS, '''\
    settings = request.settings
    till = Checkout(
        request.connection,
        Gateway(settings.gateway_url, settings.gateway_key),
        Mailer(settings.smtp_host, settings.smtp_port, settings.sender_address),
    )
''', ""),
        edit(VIEWS, "    order_id = till.place(", "    order_id = till_of(request).place("),
        append(VIEWS, '''
def mailer_of(request):
    settings = request.settings
    return Mailer(settings.smtp_host, settings.smtp_port, settings.sender_address)


def till_of(request):
    settings = request.settings
    return Checkout(request.connection, Gateway(settings.gateway_url, settings.gateway_key), mailer_of(request))
''')),
    commit("2023-02-15", PRIYA, "Everything was still in the basket after buying it",
        edit(CHECKOUT, "orders.PAID)\n", "orders.PAID)\n        basket.clear()\n")),
    commit("2023-02-20", MIRA, "Version 0.2.0",
        edit("larder/__init__.py", "0.1.0", "0.2.0"), edit("pyproject.toml", "0.1.0", "0.2.0"),
        edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 0.2.0\n\n- Page links, throttled logins.\n")),
    commit("2023-02-22", JONAS, """
Let customers cancel an order until it is packed

POST /orders/ID/cancel gives the reserved goods free again.
""",
        edit("larder/orders.py", "from larder.catalogue", "from larder import stock\nfrom larder.catalogue"),
        edit("larder/orders.py", "def create_order", '''\
class TooLate(Exception):
    """The order is on its way already."""


def create_order'''),
        append("larder/orders.py", '''
def cancel_order(connection, order_id: int) -> Order:
    """Stop an order and give its goods free."""
    order = load_order(connection, order_id)
    if order.status not in (OPEN, PAID):
        raise TooLate(order.status)
    for line in order.lines:
        stock.release(connection, line.product.id, line.quantity)
    set_status(connection, order_id, CANCELLED)
    return order
'''),
        edit(VIEWS, "from larder import catalogue\n", "from larder import catalogue, orders\n"),
        edit(VIEWS, "def login(request)", '''\
def cancel(request, order_id):
    customer_id = sessions.customer_of(request.connection, request.session, datetime.now())
    if customer_id is None or orders.load_order(request.connection, int(order_id)).customer_id != customer_id:
        return 404, {"error": "no such order"}
    orders.cancel_order(request.connection, int(order_id))
    return 200, {"order": int(order_id), "status": orders.CANCELLED}


def login(request)'''),
        after(APPLICATION, "views.checkout),\n", '    ("POST", re.compile(r"/orders/(\\d+)/cancel"), views.cancel),\n'),
        branch="feature/cancel"),
    commit("2023-02-23", JONAS, "Tell customers by mail that their order was called off",
        edit(VIEWS, '''\
    orders.cancel_order(request.connection, int(order_id))
''', '''\
    orders.cancel_order(request.connection, int(order_id))
    customer = profiles.load_customer(request.connection, customer_id)
    mailer_of(request).send(customer.email, "order_cancelled", order_id=order_id)
'''),
        edit("larder/mail/templates.py", "Nothing will be charged.", "If you have paid, the money is on its way back to you."),
        branch="feature/cancel"),
    commit("2023-02-24", TOMASZ, """
Do not show internals to the outside world

Unexpected exceptions went to the client word for word, pieces of SQL included. They belong into the log.
""",
        edit(ERRORS, "from larder.accounts.profiles", "import logging\n\nfrom larder.accounts.profiles"),
        edit(ERRORS, "RESPONSES = {", "logger = logging.getLogger(__name__)\n\nRESPONSES = {"),
        edit(ERRORS, '    return 500, {"error": str(error)}', '''\
    logger.exception("unexpected error", exc_info=error)
    return 500, {"error": "something went wrong on our side"}''')),
    commit("2023-02-27", MIRA, "Merge branch 'feature/cancel'", merges="feature/cancel"),
    commit("2023-02-28", JONAS, "Cancelling too late or a foreign order gave a server error",
        edit(ERRORS, "from larder.payments", "from larder.orders import TooLate, UnknownOrder\nfrom larder.payments"),
        after(ERRORS, "RESPONSES = {\n", '    TooLate: (409, "the order is on its way already"),\n    UnknownOrder: (404, "no such order"),\n')),
    commit("2023-03-01", PRIYA, "import_products: skip lines of the supplier's list that have no price",
        edit("larder/catalogue.py", "    for row in rows:\n", '''\
    for row in rows:
        if not row["price"].strip():
            continue
'''),
        edit("larder/catalogue.py", 'int(float(row["price"]) * 100)', 'cents(row["price"])'),
        edit("larder/catalogue.py", "from larder.models import Product", "from larder.models import Product\nfrom larder.money import cents")),
    commit("2023-03-03", TOMASZ, """
Raise the number of hashing rounds; rehash old passwords at login

50,000 rounds were fine ten years ago. The number now stands in front of the salt, so that it can grow again.
""",
        edit("larder/accounts/passwords.py", "50_000", "600_000"),
        edit("larder/accounts/passwords.py", '''\
    return f"{salt}${_digest(password, salt)}"
''', '''\
    return f"{ROUNDS}${salt}${_digest(password, salt, ROUNDS)}"
'''),
        edit("larder/accounts/passwords.py", '''\
    salt, digest = kept.split("$")
    return hmac.compare_digest(_digest(password, salt), digest)


def _digest(password: str, salt: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), ROUNDS).hex()
''', '''\
    rounds, salt, digest = _parts(kept)
    return hmac.compare_digest(_digest(password, salt, rounds), digest)


def is_outdated(kept: str) -> bool:
    return _parts(kept)[0] < ROUNDS


def _parts(kept: str) -> tuple[int, str, str]:
    *rounds, salt, digest = kept.split("$")
    return int(rounds[0]) if rounds else 50_000, salt, digest


def _digest(password: str, salt: str, rounds: int) -> str:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), rounds).hex()
'''),
        edit("larder/accounts/sessions.py", "import matches", "import hash_password, is_outdated, matches"),
        after("larder/accounts/sessions.py", "        raise WrongLogin\n", '''\
    if is_outdated(row["password"]):
        connection.execute("UPDATE customers SET password = ? WHERE id = ?", [hash_password(password), row["id"]])
''')),
    commit("2023-03-07", BOT, "style: reformat with longer lines",
        edit(BASKET, '''\
        self._connection.execute(
            "DELETE FROM basket_lines WHERE session = ? AND product_id = ?", [self._session, product_id]
        )
''', '''\
        self._connection.execute("DELETE FROM basket_lines WHERE session = ? AND product_id = ?", [self._session, product_id])
'''),
        edit("larder/stock.py", '''\
        "UPDATE stock SET on_hand = on_hand - ?, reserved = reserved - ? WHERE product_id = ?",
        [quantity, quantity, product_id],
''', '''\
        "UPDATE stock SET on_hand = on_hand - ?, reserved = reserved - ? WHERE product_id = ?", [quantity, quantity, product_id]
''')),
    commit("2023-03-09", MIRA, """
Two people could book the last van of a delivery window

The list of free slots may be old by the time of checkout. Look again before the order is kept, and say so if the slot is gone.
""",
        edit("larder/shipping/slots.py", "def slots_on", '''\
class SlotTaken(Exception):
    """Somebody was faster."""


def slots_on'''),
        append("larder/shipping/slots.py", '''
def check_slot(connection, slot: str) -> None:
    """To be called inside the transaction that books it."""
    if booked(connection, datetime.fromisoformat(slot)) >= VANS:
        raise SlotTaken(slot)
'''),
        edit(CHECKOUT, "import delivery_fee\n", "import delivery_fee\nfrom larder.shipping.slots import check_slot\n"),
        edit(CHECKOUT, "        with transaction(self._connection):\n", '''\
        with transaction(self._connection):
            if slot:
                check_slot(self._connection, slot)
'''),
        edit(ERRORS, "from larder.stock", "from larder.shipping.slots import SlotTaken\nfrom larder.stock"),
        after(ERRORS, "RESPONSES = {\n", '    SlotTaken: (409, "this delivery window is full"),\n')),
    commit("2023-03-14", PRIYA, "Sort orders_of by date, newest first",
        edit("larder/orders.py", '"SELECT id FROM orders WHERE customer_id = ?"', '"SELECT id FROM orders WHERE customer_id = ? ORDER BY created_at DESC"')),
    commit("2023-03-16", JONAS, "feat: sign up over HTTP, with a welcome mail",
        edit(VIEWS, "def as_json(product)", '''\
def sign_up(request):
    email, name = request.body["email"], request.body["name"]
    customer_id = profiles.sign_up(request.connection, email, name, request.body["password"])
    mailer_of(request).send(email, "welcome", name=name)
    return 201, {"customer": customer_id}


def as_json(product)'''),
        after(APPLICATION, "views.login),\n", '    ("POST", re.compile(r"/customers"), views.sign_up),\n'),
        append("docs/api.md", "| POST | /customers | open an account |")),
    commit("2023-03-20", TOMASZ, """
fix(mail): a mail server that is down must not lose the order

Money was taken and then the customer saw an error page, ordered again, and paid twice.
""",
        edit("larder/mail/sender.py", "import smtplib\n", "import logging\nimport smtplib\n"),
        edit("larder/mail/sender.py", "class Mailer", "logger = logging.getLogger(__name__)\n\n\nclass Mailer"),
        edit("larder/mail/sender.py", '''\
        with smtplib.SMTP(self._host, self._port) as server:
            server.send_message(message)
''', '''\
        try:
            with smtplib.SMTP(self._host, self._port) as server:
                server.send_message(message)
        except OSError:
            logger.exception("the mail %s to %s was not sent", template, recipient)
''')),
    commit("2023-03-22", PRIYA, """
Wait for each other instead of failing with "database is locked"

On Saturday mornings one checkout in fifty failed.
""",
        edit("larder/database.py", "isolation_level=None)", "isolation_level=None, timeout=15)"),
        edit("larder/database.py", "    return connection\n", '''\
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
'''),
        edit("larder/database.py", '"BEGIN"', '"BEGIN IMMEDIATE"')),
    commit("2023-03-28", MIRA, "Addresses with capital letters could open a second account",
        edit("larder/accounts/profiles.py", "    if connection.execute", "    email = email.strip().lower()\n    if connection.execute"),
        edit("larder/accounts/sessions.py", "[email]).fetchone()", "[email.strip().lower()]).fetchone()")),
    commit("2023-04-03", BOT, "build(deps): bump jinja2 from 3.1.2 to 3.1.3", edit("pyproject.toml", "3.1.2", "3.1.3")),
    commit("2023-04-05", JONAS, """
Vouchers over a fixed amount, besides percentages

Marketing wants to hand out "5 euros off" on paper. SHOP-88
""",
        edit("larder/database.py", "percent INTEGER, expires_at", "percent INTEGER, amount_cents INTEGER, expires_at"),
        edit("larder/vouchers.py", '    return percent_of(total, voucher["percent"])', '''\
    if voucher["amount_cents"]:
        return voucher["amount_cents"]
    return percent_of(total, voucher["percent"])''')),
    commit("2023-04-12", PRIYA, "People type codes from paper: ignore case and blanks",
        edit("larder/vouchers.py", "[code]).fetchone()", "[normal_code(code)]).fetchone()"),
        edit("larder/vouchers.py", "WHERE code = ?\", [code])\n", "WHERE code = ?\", [normal_code(code)])\n"),
        edit("larder/vouchers.py", "def find_voucher", '''\
def normal_code(code: str) -> str:
    return "".join(code.split()).upper()


def find_voucher''')),
    commit("2023-04-18", TOMASZ, "Close the connection to the database after every request",
        edit(APPLICATION, '''\
    except Exception as error:
        status, answer = response_for(error)
''', '''\
    except Exception as error:
        status, answer = response_for(error)
    finally:
        request.connection.close()
''')),
    commit("2023-04-20", PRIYA, "Say what included_tax is: the tax within a price", everywhere("included_tax", "tax_within")),
    commit("2023-04-24", MIRA, "Version 0.3.0",
        edit("larder/__init__.py", "0.2.0", "0.3.0"), edit("pyproject.toml", "0.2.0", "0.3.0"),
        edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 0.3.0\n\n- Accounts over HTTP, cancelling, vouchers over an amount.\n")),
)  # fmt: skip
