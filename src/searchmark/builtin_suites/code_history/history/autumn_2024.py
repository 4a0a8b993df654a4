"""July to December 2024: hardening, deposits, languages, and version 1.0."""

from searchmark.builtin_suites.code_history.history.people import JONAS, MIRA, PRIYA, TOMASZ
from searchmark.builtin_suites.code_history.steps import after, append, commit, edit, new

CHECKOUT = "larder/checkout.py"
VIEWS = "larder/web/views.py"
ACCOUNT_VIEWS = "larder/web/account_views.py"
APPLICATION = "larder/web/application.py"
ERRORS = "larder/web/errors.py"
DATABASE = "larder/database.py"
PRODUCTS = "larder/catalogue/products.py"
TEMPLATES = "larder/mail/templates.py"
THROTTLING = "larder/web/throttling.py"
SETTINGS = "larder/settings.py"
CLI = "larder/cli.py"

COMMITS = (
    commit("2024-07-02", JONAS, "checkout: ask for a minimum order value",
        after(SETTINGS, "    page_size: int = 20\n", "    minimum_order_cents: int = 1500\n"),
        edit(CHECKOUT, "class Checkout:\n", '''\
class OrderTooSmall(Exception):
    """It would not pay to drive there."""


class Checkout:
'''),
        edit(CHECKOUT, "    def __init__(self, connection, gateway, mailer) -> None:\n", '''\
    def __init__(self, connection, gateway, mailer, minimum_cents: int = 0) -> None:
        self._minimum_cents = minimum_cents
'''),
        edit(CHECKOUT, "            raise EmptyBasket\n", '''\
            raise EmptyBasket
        if basket.total_cents() < self._minimum_cents:
            raise OrderTooSmall
'''),
        edit(VIEWS, "    return Checkout(request.connection, Gateway(settings.gateway_url, settings.gateway_key), mailer_of(request))\n", '''\
    gateway = Gateway(settings.gateway_url, settings.gateway_key)
    return Checkout(request.connection, gateway, mailer_of(request), settings.minimum_order_cents)
'''),
        edit(ERRORS, "import EmptyBasket\n", "import EmptyBasket, OrderTooSmall\n"),
        after(ERRORS, "RESPONSES = {\n", '    OrderTooSmall: (400, "the order is too small"),\n')),
    commit("2024-07-04", PRIYA, """
A voucher over more than the goods made us pay the customer

Five euros off three euros of apples: the till gave two back.
""",
        edit("larder/pricing/vouchers.py", '        return voucher["amount_cents"]\n', '        return min(total, voucher["amount_cents"])\n')),
    commit("2024-07-08", TOMASZ, "Free delivery is decided after the discount, not before",
        edit(CHECKOUT, "        return goods - discount + delivery_fee(postcode, basket.weight_grams(), goods)", "        return goods - discount + delivery_fee(postcode, basket.weight_grams(), goods - discount)")),
    commit("2024-07-11", MIRA, "feat(catalogue): list allergens, as the law asks",
        edit("larder/models.py", '''    weight_grams: int = 0

''', '''    weight_grams: int = 0
    allergens: tuple[str, ...] = ()

'''),
        edit("larder/models.py", '''            row["weight_grams"],
''', '''            row["weight_grams"],
            tuple((row["allergens"] or "").split()),
'''),
        edit(DATABASE, "weight_grams INTEGER DEFAULT 0, visible", "weight_grams INTEGER DEFAULT 0, allergens TEXT, visible"),
        edit(VIEWS, '"category": product.category}', '"category": product.category, "allergens": list(product.allergens)}')),
    commit("2024-07-16", JONAS, """
Deposits for bottles and crates (#120)

They are paid with the goods, are not discounted, and are no turnover.
""",
        edit("larder/models.py", '''    allergens: tuple[str, ...] = ()

''', '''    allergens: tuple[str, ...] = ()
    deposit_cents: int = 0

'''),
        edit("larder/models.py", '.split()),\n', '.split()),\n            row["deposit_cents"],\n'),
        edit(DATABASE, "allergens TEXT, visible", "allergens TEXT, deposit_cents INTEGER DEFAULT 0, visible"),
        edit("larder/basket.py", "    def weight_grams(self)", '''\
    def deposit_cents(self) -> int:
        return sum(line.product.deposit_cents * line.quantity for line in self.lines())

    def weight_grams(self)'''),
        edit(CHECKOUT, "        return goods - discount + delivery_fee", "        return goods - discount + basket.deposit_cents() + delivery_fee")),
    commit("2024-07-23", PRIYA, "What is sold out goes to the end of the list",
        edit(PRODUCTS, '''    query = "SELECT * FROM products WHERE visible = 1"
''', '''    query = "SELECT products.* FROM products LEFT JOIN stock ON stock.product_id = products.id WHERE visible = 1"
'''),
        edit(PRODUCTS, '" ORDER BY name LIMIT', '" ORDER BY COALESCE(on_hand - reserved, 0) <= 0, name LIMIT')),
    commit("2024-08-05", TOMASZ, """
Memory of the web server grows by the day

The throttle remembered every address that ever tried to log in.
""",
        edit(THROTTLING, "    def count(self, key: str) -> None:\n", '''\
    def _forget_old(self) -> None:
        now = self._clock()
        for key in [key for key, times in self._times.items() if now - times[-1] >= self._window]:
            del self._times[key]

    def count(self, key: str) -> None:
        self._forget_old()
'''),
        edit(THROTTLING, '''\
        self._times[key] = [time for time in self._times[key] if now - time < self._window]
        if len(self._times[key]) >= self._attempts:
''', '''\
        recent = [time for time in self._times.get(key, ()) if now - time < self._window]
        if len(recent) >= self._attempts:
''')),
    commit("2024-08-07", TOMASZ, "Count wrong passwords by account as well as by address",
        edit(ACCOUNT_VIEWS, '''\
    logins.check(request.address)
    try:
''', '''\
    account = request.body["email"].strip().lower()
    logins.check(request.address)
    logins.check(account)
    try:
'''),
        edit(ACCOUNT_VIEWS, "        logins.count(request.address)\n", "        logins.count(request.address)\n        logins.count(account)\n")),
    commit("2024-08-13", MIRA, "Refuse to start with the secret that everybody knows",
        edit(SETTINGS, "def from_environment", '''\
class Unsafe(Exception):
    """A setting that must not be used in production."""


def check_safe(settings: Settings) -> None:
    if settings.secret == Settings.secret:
        raise Unsafe("set LARDER_SECRET")


def from_environment'''),
        edit(CLI, '''    elif options.command == "serve":
''', '''    elif options.command == "serve":
        check_safe(settings)
'''),
        edit(CLI, "from larder.settings import from_environment", "from larder.settings import check_safe, from_environment")),
    commit("2024-08-20", JONAS, "Cap the size of request bodies",
        after(SETTINGS, "    page_size: int = 20\n", "    largest_body: int = 65536\n"),
        edit(APPLICATION, '''\
        self.raw_body = environ''', '''\
        if length > settings.largest_body:
            raise TooLarge(length)
        self.raw_body = environ'''),
        edit(APPLICATION, "from larder.web.errors import response_for", "from larder.web.errors import TooLarge, response_for"),
        edit(ERRORS, "logger = logging", 'class TooLarge(Exception):\n    """Nobody has to say so much."""\n\n\nlogger = logging'),
        after(ERRORS, "RESPONSES = {\n", '    TooLarge: (413, "the body is too large"),\n')),
    commit("2024-08-27", PRIYA, "Answer HEAD like GET, without a body",
        edit(APPLICATION, '        if found and method == request.method:\n', '        if found and method == ("GET" if request.method == "HEAD" else request.method):\n'),
        edit(APPLICATION, "    return [json.dumps(answer).encode()]\n", '    return [] if environ["REQUEST_METHOD"] == "HEAD" else [json.dumps(answer).encode()]\n')),
    commit("2024-09-03", TOMASZ, "Let the load balancer ask whether we are alive",
        edit(VIEWS, "def products(request)", '''\
def health(request):
    request.connection.execute("SELECT 1")
    return 200, {"status": "ok"}


def products(request)'''),
        after(APPLICATION, "ROUTES = [\n", '    ("GET", re.compile(r"/health"), views.health),\n'),
        append("docs/api.md", "| GET | /health | whether the shop is alive |")),
    commit("2024-09-10", MIRA, "Mails in German for those who prefer it",
        edit(TEMPLATES, "\n\ndef render(template: str, **values) -> tuple[str, str]:\n", '''
GERMAN = {
    "order_confirmation": ("Ihre Bestellung {order_id}", "Danke! Ihre Bestellung {order_id} über {total} ist da.\\n"),
    "welcome": ("Willkommen bei Larder", "Hallo {name},\\n\\nIhr Konto ist bereit.\\n"),
}


def render(template: str, language: str = "en", **values) -> tuple[str, str]:
'''),
        edit(TEMPLATES, "    subject, body = TEMPLATES[template]\n", "    wordings = {**TEMPLATES, **GERMAN} if language == \"de\" else TEMPLATES\n    subject, body = wordings[template]\n"),
        edit("larder/models.py", "    pays_by_invoice: bool = False\n", '    pays_by_invoice: bool = False\n    language: str = "en"\n'),
        edit("larder/accounts/profiles.py", 'bool(row["pays_by_invoice"])) if row', 'bool(row["pays_by_invoice"]), row["language"]) if row'),
        edit(DATABASE, "pays_by_invoice INTEGER DEFAULT 0, created_at", "pays_by_invoice INTEGER DEFAULT 0, language TEXT DEFAULT 'en', created_at"),
        edit(CHECKOUT, '"order_confirmation", order_id=order_id', '"order_confirmation", language=customer.language, order_id=order_id')),
    commit("2024-09-17", JONAS, """
The supplier's second list doubled the whole catalogue

Products are told apart by their number (EAN) now, and known ones are updated.
""",
        edit(DATABASE, "id INTEGER PRIMARY KEY, name TEXT NOT NULL, description", "id INTEGER PRIMARY KEY, ean TEXT UNIQUE, name TEXT NOT NULL, description"),
        edit(PRODUCTS, '''"INSERT INTO products (name, price_cents, category, weight_grams) VALUES (?, ?, ?, ?)",
            [row["name"], cents''', '''"INSERT INTO products (ean, name, price_cents, category, weight_grams) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (ean) DO UPDATE SET name = excluded.name, price_cents = excluded.price_cents",
            [row["ean"], row["name"], cents''')),
    commit("2024-09-24", PRIYA, "Shelf counts below zero after a parcel was scanned twice",
        edit("larder/stock.py", '''WHERE product_id = ?", [quantity, quantity, product_id]
''', '''WHERE product_id = ? AND reserved >= ?",
        [quantity, quantity, product_id, quantity],
'''),
        edit(DATABASE, "on_hand INTEGER NOT NULL, reserved INTEGER DEFAULT 0", "on_hand INTEGER NOT NULL CHECK (on_hand >= 0), reserved INTEGER DEFAULT 0")),
    commit("2024-10-01", TOMASZ, """
Set the session cookie ourselves, out of reach of scripts

HttpOnly, Secure and SameSite. The web site kept the token where any script on the page could read it.
""",
        edit(ACCOUNT_VIEWS, '    return 200, {"session": token}', '    request.set_cookie = f"session={token}; HttpOnly; Secure; SameSite=Lax; Max-Age={hours * 3600}"\n    return 200, {}'),
        edit(APPLICATION, "        self.settings = settings\n", '        self.settings = settings\n        self.set_cookie = ""\n'),
        edit(APPLICATION, '''\
        status, answer = dispatch(Request(environ, settings, connection))
''', '''\
        request = Request(environ, settings, connection)
        status, answer = dispatch(request)
        headers += [("Set-Cookie", request.set_cookie)] if request.set_cookie else []
'''),
        edit(APPLICATION, "    connection = connect(settings.database)\n    try", '    connection = connect(settings.database)\n    headers = [("Content-Type", "application/json")]\n    try'),
        edit(APPLICATION, '.phrase}", [("Content-Type", "application/json")])', '.phrase}", headers)')),
    commit("2024-10-08", MIRA, "Spread the deliveries: dearer in the evening, cheaper at noon",
        edit("larder/shipping/rates.py", "def delivery_fee(postcode: str, weight_grams: int, goods_cents: int) -> int:\n", '''\
def hour_surcharge(hour: int) -> int:
    if hour >= EVENING:
        return 100
    return -100 if hour in NOON else 0


def delivery_fee(postcode: str, weight_grams: int, goods_cents: int, hour: int = 10) -> int:
'''),
        edit("larder/shipping/rates.py", "    fee = BASE_FEE + surcharge\n", "    fee = BASE_FEE + surcharge + hour_surcharge(hour)\n"),
        edit("larder/shipping/rates.py", "ZONES = {", "EVENING, NOON = 18, (12, 14)\nZONES = {"),
        edit(CHECKOUT, "    def total(self, basket: Basket, postcode: str, voucher: str | None = None) -> int:\n", '''\
    def total(self, basket: Basket, postcode: str, voucher: str | None = None, slot: str | None = None) -> int:
        hour = datetime.fromisoformat(slot).hour if slot else 10
'''),
        edit(CHECKOUT, "basket.weight_grams(), goods - discount)", "basket.weight_grams(), goods - discount, hour)"),
        edit(CHECKOUT, "self.total(basket, customer.postcode, voucher)", "self.total(basket, customer.postcode, voucher, slot)"),
        edit(CHECKOUT, "from datetime import date\n", "from datetime import date, datetime\n")),
    commit("2024-10-15", JONAS, "free_slots: nothing that begins within the next two hours",
        edit("larder/shipping/slots.py", "            if slot > now and booked", "            if slot > now + NOTICE and booked"),
        edit("larder/shipping/slots.py", "VANS = 4\n", "VANS = 4\nNOTICE = timedelta(hours=2)\n")),
    commit("2024-10-17", PRIYA, "Windows of cancelled orders stay occupied",
        edit("larder/shipping/slots.py", "WHERE slot = ?\"", "WHERE slot = ? AND status != 'cancelled'\"")),
    commit("2024-10-29", MIRA, """
Ask for a rating two days after the delivery

One mail per order, and none to people who have said no.
""",
        new("larder/jobs/ratings.py", '''
"""Asking how it was."""

from datetime import datetime, timedelta

from larder.jobs.queue import enqueue


def ask_for_ratings(connection, now: datetime) -> int:
    """Write mails to those whose order came two days ago."""
    day = (now - timedelta(days=2)).date().isoformat()
    rows = connection.execute(
        "SELECT orders.id, email FROM orders JOIN customers ON customers.id = customer_id "
        "WHERE status = 'delivered' AND date(slot) = ? AND wants_mail = 1",
        [day],
    ).fetchall()
    for row in rows:
        enqueue(connection, "mail", recipient=row["email"], template="rating", order_id=row["id"])
    return len(rows)
'''),
        edit(DATABASE, "language TEXT DEFAULT 'en', created_at", "language TEXT DEFAULT 'en', wants_mail INTEGER DEFAULT 1, created_at"),
        edit(TEMPLATES, '    "welcome": ("Welcome', '    "rating": ("How was it?", "Tell us about your order {order_id}: https://larder.example/rate/{order_id}\\n"),\n    "welcome": ("Welcome')),
    commit("2024-11-05", TOMASZ, "Two workers must not do the same job",
        edit("larder/jobs/queue.py", '''\
    row = connection.execute("SELECT * FROM jobs WHERE due_at <= ? ORDER BY due_at LIMIT 1", [now.isoformat()]).fetchone()
''', '''\
    claimed = (now + CLAIM).isoformat()
    row = connection.execute(
        "UPDATE jobs SET due_at = ? WHERE id = (SELECT id FROM jobs WHERE due_at <= ? ORDER BY due_at LIMIT 1) RETURNING *",
        [claimed, now.isoformat()],
    ).fetchone()
'''),
        edit("larder/jobs/queue.py", "MOST_TRIES = 5\n", "MOST_TRIES = 5\nCLAIM = timedelta(minutes=10)\n")),
    commit("2024-11-12", JONAS, "A packer's scanner sends the EAN, not our own product number",
        edit(PRODUCTS, "def categories(connection)", '''\
def product_by_ean(connection, ean: str) -> Product | None:
    row = connection.execute("SELECT * FROM products WHERE ean = ?", [ean.lstrip("0")]).fetchone()
    return Product.from_row(row) if row else None


def categories(connection)'''),
        edit(VIEWS, "def product(request, product_id):\n    found = catalogue.get_product(request.connection, int(product_id))\n", '''\
def product(request, product_id):
    found = catalogue.get_product(request.connection, int(product_id)) or catalogue.product_by_ean(request.connection, product_id)
''')),
    commit("2024-11-19", PRIYA, "Leave out categories in which nothing is for sale",
        edit(PRODUCTS, '"SELECT DISTINCT category FROM products ORDER', '"SELECT DISTINCT category FROM products WHERE visible = 1 ORDER')),
    commit("2024-11-26", TOMASZ, "more fixes", edit(CLI, "import time  # isort: keep\n", "import time\n")),
    commit("2024-12-03", JONAS, "Say which product is short when an order cannot be filled",
        edit(ERRORS, '''            return status, {"error": text}
''', '''            details = {"product": error.product_id, "available": error.available} if kind is OutOfStock else {}
            return status, {"error": text, **details}
''')),
    commit("2024-12-10", MIRA, "Release 1.0.0",
        edit("larder/__init__.py", "0.7.0", "1.0.0"), edit("pyproject.toml", "0.7.0", "1.0.0"),
        edit("CHANGELOG.md", "## Unreleased\n", "## 1.0.0\n\n- Deposits, mails in German, ratings, a health check.\n")),
)  # fmt: skip
