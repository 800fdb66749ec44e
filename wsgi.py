"""The WSGI entry point: `gunicorn wsgi:app`, and what the `flask` command finds by itself."""

import sys

# Under the `flask` command Flask is loaded by now; that process, the worker above all, stays unpatched.
serving = "flask" not in sys.modules
if serving:
    from gevent import monkey

    monkey.patch_all()

from app import create_app  # noqa: E402 (after the patch)
from config import ConfigError  # noqa: E402

try:
    app = application = create_app()
except ConfigError as error:
    if serving:  # gunicorn gives up after an exception, but would start its workers anew for ever after an exit
        raise
    sys.exit(str(error))
