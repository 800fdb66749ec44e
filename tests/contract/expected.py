"""The expected status of every endpoint for every caller: `authz.json` for section 4, the extensions beside it."""

import json
from pathlib import Path
from typing import NamedTuple

from tests.contract.specification import CALLERS, EXTENSIONS, SPECIFICATION, VARIANTS

DATA = json.loads(Path(__file__).with_name("authz.json").read_text())
EMPTY_BODY_PROVES = "an empty body (400) proves that the guard let the caller through"

# Where the table's word is no guard's: another row's words, or a rule that the service knows and the guard does not.
_READ_AS = {
    "alias": "verifyAuth+self",
    "alias of git-provider/create": "verifyAuth",
    "org:VIEW_MEMBERS, not owner": "org:VIEW_MEMBERS",
}


class Expected(NamedTuple):
    """One endpoint of the table, or a variant of its request."""

    area: str
    method: str
    path: str
    words: str
    cells: dict[str, str]
    empty_body: bool = False

    @property
    def route(self) -> tuple[str, str]:
        """Method and path as they are served."""
        return self.method, self.path.partition("#")[0]


def expected() -> list[Expected]:
    """Every row: the specification's in its order, then the extensions."""
    areas = {(row.method, row.path): row.area for row in SPECIFICATION}
    table = [
        Expected(
            areas[row["method"], row["path"]],
            row["method"],
            row["path"],
            decided(row["guard"]),
            row["cells"],
            EMPTY_BODY_PROVES in row["note"],
        )
        for row in DATA["endpoints"]
    ]
    return table + [
        Expected(row.area, row.method, row.path, row.guard, dict(zip(CALLERS, row.cells.split(), strict=True)))
        for row in (*EXTENSIONS, *VARIANTS)
    ]


def decided(words: str) -> str:
    """A guard's words without the mark that the specification left them open."""
    words = words.replace(" (decided)", "")
    return _READ_AS.get(words, words)


def fits(status: int, cell: str) -> bool:
    """Whether a status is what the cell says; `2xx` is 200, 201 or 202 as the contract says."""
    return status in (200, 201, 202) if cell in ("2xx", "200") else str(status) == cell
