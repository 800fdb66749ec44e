"""The WSGI entry point of gunicorn (`wsgi:app`) and of the `flask` command."""

import sys

# The `flask` command has loaded Flask. Its process stays unpatched, because the job worker uses threads.
serving = "flask" not in sys.modules
if serving:
    from gevent import monkey

    monkey.patch_all()

from app.factory import create_app  # noqa: E402 (after the patch)
from config import ConfigError  # noqa: E402

try:
    app = application = create_app()
except ConfigError as error:
    if serving:  # gunicorn stops after an exception; after an exit it would restart its workers forever
        raise
    sys.exit(str(error))
