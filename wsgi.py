"""The WSGI entry point: `gunicorn wsgi:app`, and what the `flask` command finds by itself."""

import sys

# Under the `flask` command Flask is loaded by now; that process, the worker above all, stays unpatched.
if "flask" not in sys.modules:
    from gevent import monkey

    monkey.patch_all()

from app import create_app

app = application = create_app()
