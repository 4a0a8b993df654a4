"""May to July 2023: packages, search, notifications of payments, background jobs."""

from searchmark.builtin_suites.code_history.history.people import JONAS, MIRA, PRIYA, TOMASZ
from searchmark.builtin_suites.code_history.steps import after, append, commit, edit, everywhere, move, new

CHECKOUT = "larder/checkout.py"
VIEWS = "larder/web/views.py"
APPLICATION = "larder/web/application.py"
ERRORS = "larder/web/errors.py"
BASKET = "larder/basket.py"
DATABASE = "larder/database.py"
SESSIONS = "larder/accounts/sessions.py"
SLOTS = "larder/shipping/slots.py"
CLI = "larder/cli.py"

COMMITS = (
    commit("2023-05-02", MIRA, "Gather money, tax and vouchers in a package for pricing",
        new("larder/pricing/__init__.py", '"""What things cost."""'),
        move("larder/money.py", "larder/pricing/money.py"),
        move("larder/tax.py", "larder/pricing/tax.py"),
        move("larder/vouchers.py", "larder/pricing/vouchers.py"),
        everywhere("from larder.money import", "from larder.pricing.money import"),
        edit(CHECKOUT, "from larder import orders, stock, vouchers", "from larder import orders, stock"),
        after(CHECKOUT, "import PaymentDeclined\n", "from larder.pricing import vouchers\n"),
        edit(ERRORS, "from larder.vouchers import", "from larder.pricing.vouchers import")),
    commit("2023-05-04", PRIYA, """
Full text search over names and descriptions

LIKE found nothing in descriptions, and "wheat flour" did not find "Flour, wheat".
""",
        new("larder/search.py", '''
"""Finding products by words."""

from larder.models import Product


def index_product(connection, product: Product) -> None:
    connection.execute("INSERT OR REPLACE INTO product_words (rowid, name, description) VALUES (?, ?, ?)",
                       [product.id, product.name, product.description])


def search_products(connection, words: str, limit: int = 20) -> list[Product]:
    """Products that hold all the words, best first."""
    rows = connection.execute(
        "SELECT products.* FROM product_words JOIN products ON products.id = product_words.rowid "
        "WHERE product_words MATCH ? AND visible = 1 ORDER BY rank LIMIT ?",
        [words, limit],
    )
    return [Product.from_row(row) for row in rows]


def rebuild(connection) -> None:
    """Index the whole catalogue anew."""
    connection.execute("DELETE FROM product_words")
    for row in connection.execute("SELECT * FROM products").fetchall():
        index_product(connection, Product.from_row(row))
'''),
        edit(DATABASE, "CREATE TABLE IF NOT EXISTS stock", 'CREATE VIRTUAL TABLE IF NOT EXISTS product_words USING fts5(name, description);\nCREATE TABLE IF NOT EXISTS stock'),
        edit("larder/catalogue.py", '''\
def find_products(connection, words: str) -> list[Product]:
    """Products whose name holds the words."""
    pattern = f"%{words}%"
    rows = connection.execute("SELECT * FROM products WHERE visible = 1 AND name LIKE ?", [pattern])
    return [Product.from_row(row) for row in rows]


''', ""),
        edit(VIEWS, "from larder import catalogue, orders\n", "from larder import catalogue, orders, search\n"),
        edit(VIEWS, "catalogue.find_products(", "search.search_products(")),
    commit("2023-05-09", JONAS, "Looking for 'tomato' should bring up tomatoes",
        edit("larder/search.py", "[words, limit]", "[as_match(words), limit]"),
        edit("larder/search.py", "def search_products", '''\
def as_match(words: str) -> str:
    """Every word may go on: tomato* finds tomatoes."""
    return " ".join(f"{word}*" for word in words.split())


def search_products''')),
    commit("2023-05-11", TOMASZ, """
A quotation mark in the search box crashes the page

FTS5 has a query language of its own, and customers do not know it.
""",
        edit("larder/search.py", '''f"{word}*" for word in words.split())''', '''f'"{word}"*' for word in words.replace('"', " ").split())''')),
    commit("2023-05-15", PRIYA, "payments: listen to what the card processor has to say later",
        new("larder/payments/webhooks.py", '''
"""What the card processor tells us after the fact."""

from larder import orders


def handle(connection, event: dict) -> None:
    """A charge went through late, or was taken back by the bank."""
    order_id = int(event["reference"])
    if event["type"] == "charge.succeeded":
        orders.set_status(connection, order_id, orders.PAID)
    elif event["type"] == "charge.disputed":
        orders.set_status(connection, order_id, orders.CANCELLED)
'''),
        edit(VIEWS, "from larder.payments.gateway", "from larder.payments import webhooks\nfrom larder.payments.gateway"),
        edit(VIEWS, "def as_json(product)", '''\
def payment_event(request):
    webhooks.handle(request.connection, request.body)
    return 200, {}


def as_json(product)'''),
        after(APPLICATION, "views.sign_up),\n", '    ("POST", re.compile(r"/payments/events"), views.payment_event),\n')),
    commit("2023-05-17", TOMASZ, """
Check the signature of payment events before believing them

Anybody who knew the URL could mark an order as paid.
""",
        edit("larder/payments/webhooks.py", "from larder import orders\n", '''\
import hashlib
import hmac

from larder import orders


class Forged(Exception):
    """It does not come from the card processor."""


def verify(body: bytes, signature: str, secret: str) -> None:
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, signature):
        raise Forged
'''),
        after("larder/settings.py", '    gateway_key: str = ""\n', '    webhook_secret: str = ""\n'),
        edit(APPLICATION, '        self.body = json.loads(environ["wsgi.input"].read(length) or "{}") if length else {}\n', '''\
        self.raw_body = environ["wsgi.input"].read(length) if length else b""
        self.signature = environ.get("HTTP_X_SIGNATURE", "")
        self.body = json.loads(self.raw_body or "{}")
'''),
        edit(VIEWS, "    webhooks.handle(", "    webhooks.verify(request.raw_body, request.signature, request.settings.webhook_secret)\n    webhooks.handle("),
        edit(ERRORS, "from larder.pricing", "from larder.payments.webhooks import Forged\nfrom larder.pricing"),
        after(ERRORS, "RESPONSES = {\n", '    Forged: (403, "wrong signature"),\n')),
    commit("2023-05-22", JONAS, "The same payment event may arrive more than once",
        edit(DATABASE, 'expires_at TEXT, uses_left INTEGER);\n', 'expires_at TEXT, uses_left INTEGER);\nCREATE TABLE IF NOT EXISTS payment_events (id TEXT PRIMARY KEY);\n'),
        edit("larder/payments/webhooks.py", '''\
    order_id = int(event["reference"])
''', '''\
    fresh = connection.execute("INSERT OR IGNORE INTO payment_events VALUES (?)", [event["id"]]).rowcount
    if not fresh:
        return
    order_id = int(event["reference"])
''')),
    commit("2023-05-24", MIRA, "Round tax half up, as the tax office wants it",
        edit("larder/pricing/tax.py", "return int(gross * rate / (100 + rate))", "return (2 * gross * rate + 100 + rate) // (2 * (100 + rate))")),
    commit("2023-05-30", PRIYA, "More could be paid back than was ever paid (#41)",
        edit(DATABASE, "total_cents INTEGER, slot TEXT", "total_cents INTEGER, refunded_cents INTEGER DEFAULT 0, slot TEXT"),
        edit("larder/payments/refunds.py", "    return gateway.pay_back(charge_id, amount)\n", '''\
    given = connection.execute("SELECT refunded_cents FROM orders WHERE id = ?", [order_id]).fetchone()[0]
    if given + amount > order.total_cents:
        raise RefundError("more than was paid")
    connection.execute("UPDATE orders SET refunded_cents = refunded_cents + ? WHERE id = ?", [amount, order_id])
    return gateway.pay_back(charge_id, amount)
''')),
    commit("2023-06-01", JONAS, """
Put the goods of a refunded order back on the shelf

Unless they have left the house: what comes back from customers is not sold again.
""",
        edit("larder/payments/refunds.py", "from larder import orders\n", "from larder import orders, stock\n"),
        edit("larder/payments/refunds.py", "    orders.set_status(connection, order_id, orders.CANCELLED)\n", '''\
    if order.status == orders.PAID:
        for line in order.lines:
            stock.release(connection, line.product.id, line.quantity)
    orders.set_status(connection, order_id, orders.CANCELLED)
''')),
    commit("2023-06-05", PRIYA, "docs: describe the payment events", append("docs/api.md", "| POST | /payments/events | for the card processor |")),
    commit("2023-06-07", TOMASZ, "Sessions live on as long as they are used",
        edit(SESSIONS, '''\
        return None
    return row["customer_id"]
''', '''\
        return None
    longer = now + timedelta(hours=24)
    connection.execute("UPDATE sessions SET expires_at = ? WHERE token = ?", [longer.isoformat(), token])
    return row["customer_id"]
''')),
    commit("2023-06-12", MIRA, """
Send mails in the background

Checkout took four seconds, and three of them were spent talking to the mail server.
""",
        new("larder/jobs/queue.py", '''
"""Work that can wait: a table of jobs, and a worker that does them one after the other."""

import json
import logging
from datetime import datetime

logger = logging.getLogger(__name__)


def enqueue(connection, name: str, **arguments) -> None:
    connection.execute(
        "INSERT INTO jobs (name, arguments, due_at) VALUES (?, ?, ?)", [name, json.dumps(arguments), datetime.now().isoformat()]
    )


def run_next(connection, tasks: dict, now: datetime) -> bool:
    """Do one job that is due; False if there is none."""
    row = connection.execute("SELECT * FROM jobs WHERE due_at <= ? ORDER BY due_at LIMIT 1", [now.isoformat()]).fetchone()
    if row is None:
        return False
    try:
        tasks[row["name"]](**json.loads(row["arguments"]))
    except Exception:
        logger.exception("job %s failed", row["name"])
    connection.execute("DELETE FROM jobs WHERE id = ?", [row["id"]])
    return True
'''),
        edit(DATABASE, "CREATE TABLE IF NOT EXISTS payment_events", 'CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, name TEXT, arguments TEXT, due_at TEXT);\nCREATE TABLE IF NOT EXISTS payment_events'),
        append("larder/mail/sender.py", '''
class QueuedMailer:
    """Writes mails down for the worker to send."""

    def __init__(self, connection) -> None:
        self._connection = connection

    def send(self, recipient: str, template: str, **values) -> None:
        enqueue(self._connection, "mail", recipient=recipient, template=template, **values)
'''),
        edit("larder/mail/sender.py", "from larder.mail.templates", "from larder.jobs.queue import enqueue\nfrom larder.mail.templates"),
        edit(VIEWS, "from larder.mail.sender import Mailer", "from larder.mail.sender import QueuedMailer"),
        edit(VIEWS, '''\
    settings = request.settings
    return Mailer(settings.smtp_host, settings.smtp_port, settings.sender_address)
''', '''\
    return QueuedMailer(request.connection)
'''),
        edit(CLI, "    options = parser.parse_args", '    commands.add_parser("work", help="send mails and do other jobs, for ever")\n    options = parser.parse_args'),
        edit(CLI, "    return 0\n", '''\
    elif options.command == "work":
        mailer = Mailer(settings.smtp_host, settings.smtp_port, settings.sender_address)
        while True:
            if not run_next(connection, {"mail": mailer.send}, datetime.now()):
                time.sleep(1)
    return 0
'''),
        edit(CLI, "import csv\n", "import csv\nimport time\nfrom datetime import datetime\n"),
        edit(CLI, "from larder.settings", "from larder.jobs.queue import run_next\nfrom larder.mail.sender import Mailer\nfrom larder.settings")),
    commit("2023-06-14", MIRA, """
Try a failed job again later

A mail that could not be sent was simply lost. Now it is tried five times, with longer and longer pauses.
""",
        edit(DATABASE, "arguments TEXT, due_at TEXT);", "arguments TEXT, due_at TEXT, tries INTEGER DEFAULT 0);"),
        edit("larder/jobs/queue.py", "import datetime\n", "import datetime, timedelta\n"),
        edit("larder/jobs/queue.py", "logger = ", "MOST_TRIES = 5\nlogger = "),
        edit("larder/jobs/queue.py", '''        logger.exception("job %s failed", row["name"])
''', '''        logger.exception("job %s failed", row["name"])
        if row["tries"] + 1 < MOST_TRIES:
            later = now + timedelta(minutes=4 ** row["tries"])
            connection.execute("UPDATE jobs SET tries = tries + 1, due_at = ? WHERE id = ?", [later.isoformat(), row["id"]])
            return True
'''),
        edit("larder/mail/sender.py", '''\
        try:
            with smtplib.SMTP(self._host, self._port) as server:
                server.send_message(message)
        except OSError:
            logger.exception("the mail %s to %s was not sent", template, recipient)
''', '''\
        with smtplib.SMTP(self._host, self._port) as server:
            server.send_message(message)
        logger.info("sent the mail %s to %s", template, recipient)
''')),
    commit("2023-06-19", PRIYA, "Clear out expired sessions and baskets that nobody came back for",
        new("larder/jobs/cleanup.py", '''
"""Throwing away what nobody needs any more; to be run every night."""

from datetime import datetime

from larder.accounts.sessions import delete_expired
from larder.basket import delete_abandoned


def clean_up(connection, now: datetime) -> dict[str, int]:
    """How many of each kind are gone."""
    return {"sessions": delete_expired(connection, now), "baskets": delete_abandoned(connection)}
'''),
        append(SESSIONS, '''
def delete_expired(connection, now: datetime) -> int:
    return connection.execute("DELETE FROM sessions WHERE expires_at < ?", [now.isoformat()]).rowcount
'''),
        append(BASKET, '''
def delete_abandoned(connection) -> int:
    """Lines of sessions that are over."""
    return connection.execute("DELETE FROM basket_lines WHERE session NOT IN (SELECT token FROM sessions)").rowcount
'''),
        edit(CLI, "    options = parser.parse_args", '    commands.add_parser("clean-up", help="throw away what has expired")\n    options = parser.parse_args'),
        edit(CLI, '    elif options.command == "work":', '    elif options.command == "clean-up":\n        print(clean_up(connection, datetime.now()))\n    elif options.command == "work":'),
        edit(CLI, "from larder.jobs.queue", "from larder.jobs.cleanup import clean_up\nfrom larder.jobs.queue")),
    commit("2023-06-26", TOMASZ, "No vans on Sundays and public holidays",
        edit(SLOTS, "VANS = 4\n", '''\
VANS = 4
SUNDAY = 6
HOLIDAYS = {(1, 1), (5, 1), (10, 3), (12, 25), (12, 26)}
'''),
        edit(SLOTS, "    return [datetime.combine", "    if day.weekday() == SUNDAY or (day.month, day.day) in HOLIDAYS:\n        return []\n    return [datetime.combine"),
        append("tests/test_slots.py", "def test_nobody_drives_on_sunday():\n    assert slots_on(date(2023, 6, 25)) == []")),
    commit("2023-07-03", MIRA, "Version 0.4.0",
        edit("larder/__init__.py", "0.3.0", "0.4.0"), edit("pyproject.toml", "0.3.0", "0.4.0"),
        edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 0.4.0\n\n- Full text search, background jobs, payment events.\n")),
)  # fmt: skip
