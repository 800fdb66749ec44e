"""Process with many greenlets that request the token of one credential, named on standard input."""

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from gevent.pool import Pool  # noqa: E402

from app.drivers.errors import DriverError  # noqa: E402
from app.extensions import drivers  # noqa: E402
from app.factory import create_app  # noqa: E402
from app.resources.git_provider.provider_selection import token_refresher  # noqa: E402
from config import Settings  # noqa: E402


def main(told: dict[str, object]) -> None:
    """Report readiness, wait for a line, request the token in every greenlet, and print the results."""
    app = create_app(Settings.for_tests(Path(str(told["home"])), **told["environment"]))  # type: ignore[arg-type]
    with app.app_context():
        refresher = token_refresher(drivers.git)

    def ask(_number: int) -> str:
        try:
            return refresher.token(str(told["credential_id"]))
        except DriverError as error:
            return type(error).__name__

    Path(str(told["ready"])).touch()
    deadline = time.monotonic() + 120
    while not Path(str(told["go"])).exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    count = int(str(told["greenlets"]))
    print(json.dumps(Pool(count).map(ask, range(count))))


if __name__ == "__main__":
    main(json.loads(sys.stdin.read()))
