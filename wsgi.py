"""The WSGI entry point of gunicorn (`wsgi:app`) and of the `flask` command."""

import gc
import sys

# The imports create many objects and release few, so the collections in between only take time.
gc.disable()

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

# The objects of the imports are never released. Later collections do not traverse them.
gc.freeze()
gc.enable()
