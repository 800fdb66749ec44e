"""Pytest plugin that patches the test process as `wsgi.py` patches the web workers.

Load it with `-p gevent_patch` and this folder on `PYTHONPATH`: other plugins import `ssl`, so the patch comes first.
pytest-xdist cannot run in a patched process, so parts of the suite run in processes of their own; see `tests/run.py`.
"""

from gevent import monkey

monkey.patch_all()
