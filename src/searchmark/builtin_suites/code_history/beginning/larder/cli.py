"""The command line for whoever runs the shop."""

import argparse
import csv
from wsgiref.simple_server import make_server

from larder import catalogue
from larder.database import connect, create_tables
from larder.settings import from_environment


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="larder")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("init-db", help="create the tables")
    serve = commands.add_parser("serve", help="run the shop on this machine")
    serve.add_argument("--port", type=int, default=8000)
    load = commands.add_parser("import", help="take over a supplier's list (CSV)")
    load.add_argument("file")
    options = parser.parse_args(arguments)
    settings = from_environment()
    connection = connect(settings.database)
    if options.command == "init-db":
        create_tables(connection)
    elif options.command == "import":
        with open(options.file) as file:
            print(catalogue.import_products(connection, csv.DictReader(file)), "products")
    elif options.command == "serve":
        from larder.web.application import application

        make_server("", options.port, application).serve_forever()
    return 0
