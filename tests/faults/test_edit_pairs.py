"""A thousand pairs of editors at each host, with outside pushes and a host that fails; takes half an hour.

`GALLEY_PAIRS` sets another number.
"""

import os
from pathlib import Path

import pytest

from tests.edits.nodes import nodes
from tests.edits.pairs import Pairs
from tests.edits.witness import Witness

PAIRS = int(os.environ.get("GALLEY_PAIRS", "1000"))


@pytest.mark.parametrize("kind", ["github", "gitlab", "local"])
@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_nothing_is_lost_and_nothing_is_there_twice(store: str, kind: str, tmp_path: Path) -> None:
    with nodes(store, tmp_path) as two:
        two.hosts.github.checks = False  # the short form holds requests against GitHub's description
        pairs = Pairs(two.site(kind, PAIRS))
        pairs.run(PAIRS)
        witness = Witness(pairs.site.git, pairs.start)
        witness.check(pairs)
        two.check_index(pairs)
        print(
            f"\n{kind}: {PAIRS} pairs, {pairs.statuses()}, {len(pairs.pushes)} outside pushes, {pairs.faults} faults,"
            f" {len(witness.commits)} commits, every acknowledged one reachable, none twice, none overwritten"
        )
