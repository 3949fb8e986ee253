"""Serves one function over HTTP. It stands in the image beside the source, in the folder that it is started in.

FUNCTION_HANDLER is a file of the source, and after a dot what it defines; `app` if nothing follows. That is an application
of WSGI (PEP 3333). A timer is a POST with `x-function-event: timer` and a body {"trigger", "scheduledAt"}.
"""

import importlib
import os
import signal
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer


def load(handler):
    sys.path.insert(0, os.getcwd())
    path = handler.removesuffix(".py")
    names = [(path, "app")]
    if "." in path:
        names.append(tuple(path.rsplit(".", 1)))
    for module, name in reversed(names):
        module = module.replace("/", ".")
        if os.path.exists(module.replace(".", "/") + ".py"):
            found = getattr(importlib.import_module(module), name, None)
            if callable(found):
                return found
            sys.exit(f'"{module}" defines no function "{name}".')
    sys.exit(f'The source has no file for the handler "{handler}".')


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128


# The traceback goes to the log of the function; a caller learns nothing of its code.
ServerHandler.error_headers = [("Content-Type", "application/json")]
ServerHandler.error_body = b'{"error":"The function failed.","code":"FUNCTION_FAILED"}'


class Handler(WSGIRequestHandler):
    def log_message(self, format, *args):
        pass


def main():
    application = load(os.environ.get("FUNCTION_HANDLER", "main"))
    server = Server(("", int(os.environ.get("PORT", "8080"))), Handler)
    server.set_app(application)
    # Calls that are under way end first.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"The function serves on port {server.server_port}.", file=sys.stderr, flush=True)
    server.serve_forever()
    server.server_close()


main()
