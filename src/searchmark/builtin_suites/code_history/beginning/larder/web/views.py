"""One function per thing that can be asked of the shop."""

from datetime import datetime

from larder import catalogue
from larder.accounts import profiles, sessions
from larder.basket import Basket
from larder.checkout import Checkout
from larder.mail.sender import Mailer
from larder.payments.gateway import Gateway
from larder.web.pagination import page_of


def products(request):
    limit, offset = page_of(request.query, request.settings.page_size)
    if "q" in request.query:
        found = catalogue.find_products(request.connection, request.query["q"])
    else:
        found = catalogue.list_products(request.connection, request.query.get("category"), limit, offset)
    return 200, [as_json(product) for product in found]


def product(request, product_id):
    found = catalogue.get_product(request.connection, int(product_id))
    return (200, as_json(found)) if found else (404, {"error": "no such product"})


def basket(request):
    own = Basket(request.connection, request.session)
    lines = [{"product": as_json(line.product), "quantity": line.quantity} for line in own.lines()]
    return 200, {"lines": lines, "total_cents": own.total_cents()}


def add_to_basket(request, product_id):
    Basket(request.connection, request.session).add(int(product_id), request.body.get("quantity", 1))
    return basket(request)


def checkout(request):
    customer_id = sessions.customer_of(request.connection, request.session, datetime.now())
    if customer_id is None:
        return 401, {"error": "please log in"}
    settings = request.settings
    till = Checkout(
        request.connection,
        Gateway(settings.gateway_url, settings.gateway_key),
        Mailer(settings.smtp_host, settings.smtp_port, settings.sender_address),
    )
    customer = profiles.load_customer(request.connection, customer_id)
    own = Basket(request.connection, request.session)
    order_id = till.place(own, customer, request.body["card"], request.body.get("slot"), request.body.get("voucher"))
    return 201, {"order": order_id}


def login(request):
    hours = request.settings.session_hours
    token = sessions.log_in(request.connection, request.body["email"], request.body["password"], hours, datetime.now())
    return 200, {"session": token}


def as_json(product):
    return {"id": product.id, "name": product.name, "price_cents": product.price_cents, "category": product.category}
