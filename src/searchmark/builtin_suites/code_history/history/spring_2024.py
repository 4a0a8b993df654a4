"""January to June 2024: recommendations, labels, forgotten passwords, invoices, and the right to be forgotten."""

from searchmark.builtin_suites.code_history.history.people import BOT, JONAS, MIRA, PRIYA, TOMASZ
from searchmark.builtin_suites.code_history.steps import after, append, commit, edit, new

CHECKOUT = "larder/checkout.py"
VIEWS = "larder/web/views.py"
APPLICATION = "larder/web/application.py"
ERRORS = "larder/web/errors.py"
BASKET = "larder/basket.py"
DATABASE = "larder/database.py"
PROFILES = "larder/accounts/profiles.py"
GATEWAY = "larder/payments/gateway.py"
TEMPLATES = "larder/mail/templates.py"
CLI = "larder/cli.py"

COMMITS = (
    commit("2024-01-08", PRIYA, "Show what others have bought together with a product",
        new("larder/catalogue/recommendations.py", '''
"""Who bought this also bought that."""

from larder.models import Product


def bought_together(connection, product_id: int, limit: int = 4) -> list[Product]:
    """Products that stand in the same orders most often."""
    rows = connection.execute(
        "SELECT products.* FROM order_lines AS this JOIN order_lines AS other USING (order_id) "
        "JOIN products ON products.id = other.product_id "
        "WHERE this.product_id = ? AND other.product_id != this.product_id AND visible = 1 "
        "GROUP BY products.id ORDER BY COUNT(*) DESC, products.id LIMIT ?",
        [product_id, limit],
    )
    return [Product.from_row(row) for row in rows]
'''),
        edit(VIEWS, "    return (200, as_json(found)) if found else (404, {\"error\": \"no such product\"})\n", '''\
    if found is None:
        return 404, {"error": "no such product"}
    others = recommendations.bought_together(request.connection, found.id)
    return 200, {**as_json(found), "bought_together": [as_json(other) for other in others]}
'''),
        edit(VIEWS, "from larder.catalogue import search\n", "from larder.catalogue import recommendations, search\n")),
    commit("2024-01-10", JONAS, "Do not recommend what is sold out",
        edit("larder/catalogue/recommendations.py", '"JOIN products ON products.id = other.product_id "', '"JOIN products ON products.id = other.product_id JOIN stock ON stock.product_id = products.id "'),
        edit("larder/catalogue/recommendations.py", "AND visible = 1 ", "AND visible = 1 AND on_hand > reserved ")),
    commit("2024-01-15", BOT, "Bump gunicorn from 21.2.0 to 22.0.0", edit("pyproject.toml", "21.2.0", "22.0.0")),
    commit("2024-01-17", TOMASZ, "Print labels for the crates of a delivery window",
        new("larder/shipping/labels.py", '''
"""Labels for crates, in the language of the label printer."""

from larder.models import Customer, Order

WIDTH = 32


def label(order: Order, customer: Customer, crate: int, crates: int) -> bytes:
    """One label: the name, where to, which order, which crate."""
    lines = [customer.name[:WIDTH], customer.postcode, f"order {order.id}", f"crate {crate} of {crates}"]
    return "".join(f"^FD{line}^FS" for line in lines).encode("ascii", "replace")


def labels(order: Order, customer: Customer, crates: int) -> list[bytes]:
    return [label(order, customer, crate, crates) for crate in range(1, crates + 1)]
'''),
        append("larder/orders.py", '''
def orders_for_slot(connection, slot: str) -> list[Order]:
    """What has to be packed for one window."""
    rows = connection.execute("SELECT id FROM orders WHERE slot = ? AND status = ?", [slot, PAID])
    return [load_order(connection, row["id"]) for row in rows.fetchall()]
'''),
        edit(CLI, "    options = parser.parse_args", '''\
    printing = commands.add_parser("labels", help="labels for a delivery window")
    printing.add_argument("slot")
    printing.add_argument("printer")
    options = parser.parse_args'''),
        edit(CLI, '    elif options.command == "work":', '''\
    elif options.command == "labels":
        with open(options.printer, "wb") as printer:
            for order in orders_for_slot(connection, options.slot):
                printer.writelines(labels(order, load_customer(connection, order.customer_id), crates=1))
    elif options.command == "work":'''),
        edit(CLI, "from larder.catalogue import products", "from larder.accounts.profiles import load_customer\nfrom larder.catalogue import products"),
        edit(CLI, "from larder.reports", "from larder.orders import orders_for_slot\nfrom larder.reports"),
        edit(CLI, "\n\ndef main", "from larder.shipping.labels import labels\n\n\ndef main")),
    commit("2024-01-19", TOMASZ, """
Umlauts come out of the printer as question marks

It speaks code page 850 if it is told to.
""",
        edit("larder/shipping/labels.py", '''    return "".join(f"^FD{line}^FS" for line in lines).encode("ascii", "replace")''', '''    return b"^CI13" + "".join(f"^FD{line}^FS" for line in lines).encode("cp850", "replace")''')),
    commit("2024-01-24", MIRA, "Count the crates by weight instead of guessing one per order",
        edit("larder/shipping/labels.py", "WIDTH = 32\n", "WIDTH = 32\nCRATE_GRAMS = 12000\n"),
        edit("larder/shipping/labels.py", '''\
def labels(order: Order, customer: Customer, crates: int) -> list[bytes]:
''', '''\
def crates_for(order: Order) -> int:
    weight = sum(line.product.weight_grams * line.quantity for line in order.lines)
    return max(1, -(-weight // CRATE_GRAMS))


def labels(order: Order, customer: Customer) -> list[bytes]:
    crates = crates_for(order)
'''),
        edit(CLI, ", crates=1))", "))")),
    commit("2024-01-30", PRIYA, "The sales file opens in one column in German spreadsheets",
        edit("larder/reports/sales.py", "csv.writer(file)", 'csv.writer(file, delimiter=";")'),
        edit("larder/reports/sales.py", '''f"{amount / 100:.2f}")''', '''f"{amount / 100:.2f}".replace(".", ","))'''),
        edit(CLI, 'open(options.file, "w", newline="")', 'open(options.file, "w", newline="", encoding="utf-8-sig")')),
    commit("2024-02-05", JONAS, """
One query for the whole basket instead of one per line

perf: the basket page of a large family took 300 ms.
""",
        edit(BASKET, '''\
        rows = self._connection.execute("SELECT product_id, quantity FROM basket_lines WHERE session = ?", [self._session])
        found = [(get_product(self._connection, row["product_id"]), row["quantity"]) for row in rows.fetchall()]
        return [Line(product, quantity) for product, quantity in found if product is not None]
''', '''\
        rows = self._connection.execute(
            "SELECT products.*, quantity FROM basket_lines JOIN products ON products.id = product_id "
            "WHERE session = ? AND visible = 1",
            [self._session],
        )
        return [Line(Product.from_row(row), row["quantity"]) for row in rows]
'''),
        edit(BASKET, "from larder.catalogue.products import get_product\nfrom larder.models import Line\n", "from larder.models import Line, Product\n")),
    commit("2024-02-08", TOMASZ, "Log how long every request takes",
        edit(APPLICATION, "import json\nimport re\n", "import json\nimport logging\nimport re\nimport time\n"),
        edit(APPLICATION, "ROUTES = [", "logger = logging.getLogger(__name__)\n\nROUTES = ["),
        edit(APPLICATION, "    settings = from_environment()\n", "    began = time.perf_counter()\n    settings = from_environment()\n"),
        edit(APPLICATION, "        connection.close()\n", '''\
        connection.close()
    elapsed = 1000 * (time.perf_counter() - began)
    logger.info("%s %s %d %.1f ms", environ["REQUEST_METHOD"], environ["PATH_INFO"], status, elapsed)
''')),
    commit("2024-02-13", MIRA, """
Keep personal data out of the logs

Mail addresses do not belong there, says our data protection officer.

Reviewed-by: Priya Lindqvist <priya@larder.example>
""",
        edit("larder/mail/sender.py", '''logger.info("sent the mail %s to %s", template, recipient)''', '''logger.info("sent the mail %s", template)'''),
        edit(PROFILES, "        raise EmailTaken(email)\n", "        raise EmailTaken\n")),
    commit("2024-02-19", JONAS, "Forgotten passwords: mail a link to set a new one",
        append(PROFILES, '''
def start_reset(connection, email: str, now: datetime) -> str | None:
    """A token with which the owner of an address may set a new password; None if nobody has it."""
    row = connection.execute("SELECT id FROM customers WHERE email = ?", [email.strip().lower()]).fetchone()
    if row is None:
        return None
    token, expires = secrets.token_urlsafe(16), now + timedelta(hours=1)
    connection.execute("INSERT INTO resets VALUES (?, ?, ?)", [token, row["id"], expires.isoformat()])
    return token


def finish_reset(connection, token: str, password: str, now: datetime) -> bool:
    row = connection.execute("SELECT * FROM resets WHERE token = ?", [token]).fetchone()
    if row is None or row["expires_at"] < now.isoformat():
        return False
    connection.execute("UPDATE customers SET password = ? WHERE id = ?", [hash_password(password), row["customer_id"]])
    return True
'''),
        edit(PROFILES, "from datetime import datetime\n", "import secrets\nfrom datetime import datetime, timedelta\n"),
        edit(DATABASE, "CREATE TABLE IF NOT EXISTS jobs", "CREATE TABLE IF NOT EXISTS resets (token TEXT PRIMARY KEY, customer_id INTEGER, expires_at TEXT);\nCREATE TABLE IF NOT EXISTS jobs"),
        edit(TEMPLATES, '    "welcome"', '    "password_reset": ("A new password", "Set it here within an hour: https://larder.example/reset/{token}\\n"),\n    "welcome"'),
        edit(VIEWS, "def payment_event", '''\
def forgot_password(request):
    token = profiles.start_reset(request.connection, request.body["email"], datetime.now())
    if token:
        mailer_of(request).send(request.body["email"], "password_reset", token=token)
    return 202, {}


def reset_password(request, token):
    done = profiles.finish_reset(request.connection, token, request.body["password"], datetime.now())
    return (200, {}) if done else (410, {"error": "this link has expired"})


def payment_event'''),
        after(APPLICATION, "views.sign_up),\n", '''\
    ("POST", re.compile(r"/forgot"), views.forgot_password),
    ("POST", re.compile(r"/reset/([\\w-]+)"), views.reset_password),
''')),
    commit("2024-02-21", TOMASZ, """
A link from the mail works twice

It must not: whoever finds the mail later could take over the account. Log out everywhere as well.
""",
        edit(PROFILES, '''[hash_password(password), row["customer_id"]])
    return True''', '''[hash_password(password), row["customer_id"]])
    connection.execute("DELETE FROM resets WHERE customer_id = ?", [row["customer_id"]])
    connection.execute("DELETE FROM sessions WHERE customer_id = ?", [row["customer_id"]])
    return True''')),
    commit("2024-02-28", PRIYA, "Short passwords are refused at sign-up and at reset",
        edit("larder/accounts/passwords.py", "def hash_password(password: str) -> str:\n", '''\
SHORTEST = 10


class WeakPassword(Exception):
    """Too easy to guess."""


def hash_password(password: str) -> str:
    if len(password) < SHORTEST:
        raise WeakPassword
'''),
        edit("larder/accounts/sessions.py", "    if is_outdated(row[\"password\"]):\n", "    if is_outdated(row[\"password\"]) and len(password) >= SHORTEST:\n"),
        edit("larder/accounts/sessions.py", "import hash_password, is_outdated, matches", "import SHORTEST, hash_password, is_outdated, matches"),
        edit(ERRORS, "from larder.accounts.permissions", "from larder.accounts.passwords import WeakPassword\nfrom larder.accounts.permissions"),
        after(ERRORS, "RESPONSES = {\n", '    WeakPassword: (400, "a password needs ten characters"),\n')),
    commit("2024-03-05", MIRA, "Version 0.6.0",
        edit("larder/__init__.py", "0.5.0", "0.6.0"), edit("pyproject.toml", "0.5.0", "0.6.0"),
        edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 0.6.0\n\n- Labels, recommendations, new passwords by mail.\n")),
    commit("2024-03-11", JONAS, """
Split the views of accounts from those of the shop

views.py had grown to everything at once. No change in behaviour.
""",
        new("larder/web/account_views.py", '''
"""What can be asked about accounts: logging in, signing up, new passwords."""

from datetime import datetime

from larder.accounts import profiles, sessions
from larder.basket import Basket
from larder.mail.sender import QueuedMailer
from larder.web.throttling import Throttle

logins = Throttle()


def login(request):
    hours = request.settings.session_hours
    logins.check(request.address)
    try:
        token = sessions.log_in(request.connection, request.body["email"], request.body["password"], hours, datetime.now())
    except sessions.WrongLogin:
        logins.count(request.address)
        raise
    Basket(request.connection, token).take_over(request.session)
    return 200, {"session": token}


def sign_up(request):
    email, name = request.body["email"], request.body["name"]
    customer_id = profiles.sign_up(request.connection, email, name, request.body["password"])
    QueuedMailer(request.connection).send(email, "welcome", name=name)
    return 201, {"customer": customer_id}


def forgot_password(request):
    token = profiles.start_reset(request.connection, request.body["email"], datetime.now())
    if token:
        QueuedMailer(request.connection).send(request.body["email"], "password_reset", token=token)
    return 202, {}


def reset_password(request, token):
    done = profiles.finish_reset(request.connection, token, request.body["password"], datetime.now())
    return (200, {}) if done else (410, {"error": "this link has expired"})
'''),
        edit(VIEWS, '''\
def login(request):
    hours = request.settings.session_hours
    logins.check(request.address)
    try:
        token = sessions.log_in(request.connection, request.body["email"], request.body["password"], hours, datetime.now())
    except sessions.WrongLogin:
        logins.count(request.address)
        raise
    Basket(request.connection, token).take_over(request.session)
    return 200, {"session": token}


def sign_up(request):
    email, name = request.body["email"], request.body["name"]
    customer_id = profiles.sign_up(request.connection, email, name, request.body["password"])
    mailer_of(request).send(email, "welcome", name=name)
    return 201, {"customer": customer_id}


def forgot_password(request):
    token = profiles.start_reset(request.connection, request.body["email"], datetime.now())
    if token:
        mailer_of(request).send(request.body["email"], "password_reset", token=token)
    return 202, {}


def reset_password(request, token):
    done = profiles.finish_reset(request.connection, token, request.body["password"], datetime.now())
    return (200, {}) if done else (410, {"error": "this link has expired"})


''', ""),
        edit(VIEWS, "from larder.web.throttling import Throttle\n\nlogins = Throttle()\n", ""),
        edit(APPLICATION, "from larder.web import views\n", "from larder.web import account_views, views\n"),
        edit(APPLICATION, "views.login)", "account_views.login)"),
        edit(APPLICATION, "views.sign_up)", "account_views.sign_up)"),
        edit(APPLICATION, "views.forgot_password)", "account_views.forgot_password)"),
        edit(APPLICATION, "views.reset_password)", "account_views.reset_password)")),
    commit("2024-03-14", TOMASZ, "Try the gateway a second time when the line drops",
        edit(GATEWAY, '''\
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)
        except OSError as error:
            raise GatewayDown(str(error)) from error
''', '''\
        for attempt in range(ATTEMPTS):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                    return json.load(response)
            except OSError as error:
                if attempt == ATTEMPTS - 1:
                    raise GatewayDown(str(error)) from error
'''),
        edit(GATEWAY, "TIMEOUT_SECONDS = 10\n", "TIMEOUT_SECONDS = 10\nATTEMPTS = 2\n")),
    commit("2024-03-15", TOMASZ, """
Some customers were charged twice last night

The first request had arrived after all, only its answer had not. Send a key with which the processor knows that it is the
same charge.

Fixes #96
""",
        edit(GATEWAY, '        request = urllib.request.Request(self._url + path, body, self._headers())\n', '''\
        headers = {**self._headers(), "Idempotency-Key": str(uuid.uuid4())}
        request = urllib.request.Request(self._url + path, body, headers)
'''),
        edit(GATEWAY, "import urllib.request\n", "import urllib.request\nimport uuid\n")),
    commit("2024-03-21", PRIYA, "Companies may pay by invoice",
        edit("larder/models.py", '''    postcode: str = ""
''', '''    postcode: str = ""
    pays_by_invoice: bool = False
'''),
        edit(PROFILES, 'row["postcode"] or "") if row', 'row["postcode"] or "", bool(row["pays_by_invoice"])) if row'),
        edit(DATABASE, "role TEXT DEFAULT 'customer', created_at", "role TEXT DEFAULT 'customer', pays_by_invoice INTEGER DEFAULT 0, created_at"),
        edit(CHECKOUT, "            self._gateway.charge(total, card_token, reference=str(order_id))\n", '''\
            if not customer.pays_by_invoice:
                self._gateway.charge(total, card_token, reference=str(order_id))
''')),
    commit("2024-04-04", JONAS, """
Forget customers who ask for it (GDPR)

Orders stay for the tax office, without a name.
""",
        append(PROFILES, '''
def forget(connection, customer_id: int) -> None:
    """Delete an account; its orders remain, and belong to nobody."""
    connection.execute("UPDATE orders SET customer_id = NULL WHERE customer_id = ?", [customer_id])
    for table in ("sessions", "resets"):
        connection.execute(f"DELETE FROM {table} WHERE customer_id = ?", [customer_id])
    connection.execute("DELETE FROM customers WHERE id = ?", [customer_id])
'''),
        append("larder/web/account_views.py", '''
def forget(request):
    customer_id = sessions.customer_of(request.connection, request.session, datetime.now())
    if customer_id is None:
        return 401, {"error": "please log in"}
    profiles.forget(request.connection, customer_id)
    return 204, {}
'''),
        after(APPLICATION, "account_views.sign_up),\n", '    ("DELETE", re.compile(r"/customers"), account_views.forget),\n')),
    commit("2024-04-10", MIRA, "page_of: page 0 and page x are page 1",
        edit("larder/web/pagination.py", '    page = int(query.get("page", 1))\n', '''\
    text = query.get("page", "1")
    page = max(1, int(text)) if text.isdecimal() else 1
''')),
    commit("2024-04-16", BOT, "Update dependencies", edit("pyproject.toml", "3.1.3", "3.1.4")),
    commit("2024-04-23", PRIYA, "Keep the chosen category when turning pages",
        edit("larder/web/pagination.py", "def page_links(path: str, page: int, total: int, size: int)", "def page_links(path: str, page: int, total: int, size: int, **kept)"),
        edit("larder/web/pagination.py", '''    links = {}
    if page > 1:
        links["previous"] = f"{path}?page={page - 1}"
    if page < last:
        links["next"] = f"{path}?page={page + 1}"
''', '''    given = {name: value for name, value in kept.items() if value is not None}
    links = {}
    if page > 1:
        links["previous"] = f"{path}?{urlencode({**given, 'page': page - 1})}"
    if page < last:
        links["next"] = f"{path}?{urlencode({**given, 'page': page + 1})}"
'''),
        edit("larder/web/pagination.py", "from math import ceil\n", "from math import ceil\nfrom urllib.parse import urlencode\n"),
        edit(VIEWS, "offset // limit + 1, total, limit)", "offset // limit + 1, total, limit, category=category)")),
    commit("2024-05-06", TOMASZ, "The worker should finish its job when it is told to stop",
        edit(CLI, '''\
        while True:
            if not run_next''', '''\
        stopping = []
        signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
        while not stopping:
            if not run_next'''),
        edit(CLI, "import csv\n", "import csv\nimport signal\n")),
    commit("2024-05-14", JONAS, "The new tax rates hold from July on, and old receipts stay as they were",
        edit("larder/pricing/tax.py", '''RATES = {"standard": 19, "reduced": 7, "none": 0}


def tax_within(gross: int, kind: str) -> int:
    """The tax inside a gross price."""
    rate = RATES[kind]
''', '''RATES = {"standard": 19, "reduced": 7, "none": 0}
RATES_FROM_JULY = {"standard": 20, "reduced": 8, "none": 0}
JULY = date(2024, 7, 1)


def rate_on(day: date, kind: str) -> int:
    return (RATES if day < JULY else RATES_FROM_JULY)[kind]


def tax_within(gross: int, kind: str, day: date) -> int:
    """The tax inside a gross price."""
    rate = rate_on(day, kind)
'''),
        edit("larder/pricing/tax.py", 'def tax_summary(lines)', 'def tax_summary(lines, day: date)'),
        edit("larder/pricing/tax.py", "tax_within(line.total_cents, kind)", "tax_within(line.total_cents, kind, day)"),
        edit("larder/pricing/tax.py", '''def net(gross: int, kind: str) -> int:
    return gross - tax_within(gross, kind)''', '''def net(gross: int, kind: str, day: date) -> int:
    return gross - tax_within(gross, kind, day)'''),
        edit("larder/pricing/tax.py", 'every price."""\n', 'every price."""\n\nfrom datetime import date\n')),
    commit("2024-06-03", MIRA, "Version 0.7.0",
        edit("larder/__init__.py", "0.6.0", "0.7.0"), edit("pyproject.toml", "0.6.0", "0.7.0"),
        edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 0.7.0\n\n- Invoices, deleted accounts, new tax rates.\n")),
)  # fmt: skip
