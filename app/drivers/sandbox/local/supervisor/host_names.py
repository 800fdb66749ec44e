"""Names of hosts that a site requested and did not reach."""

import re

MAX_NAMES = 10
HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,255}")
HTTPS_SUFFIX = ":443"


class HostNames(list[str]):
    """At most ten different names, in the order of the requests. The site chooses them, so invalid ones are skipped."""

    def add(self, host: str) -> None:
        """Add `host` or `host:port`. The port of HTTPS is left out."""
        name = host.removesuffix(HTTPS_SUFFIX)
        if HOST.fullmatch(name) and name not in self and len(self) < MAX_NAMES:
            self.append(name)
