"""Test of 1000 pairs of editors at each host with pushes and faults. It takes half an hour.

`GALLEY_PAIRS` sets another number.
"""

import os
from pathlib import Path

import pytest

from tests.support.edit_pairs.nodes import nodes
from tests.support.edit_pairs.pairs import Pairs
from tests.support.edit_pairs.witness import Witness

PAIRS = int(os.environ.get("GALLEY_PAIRS", "1000"))


@pytest.mark.parametrize("kind", ["github", "gitlab", "local"])
@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_parallel_editors_keep_each_acknowledged_save_once(store: str, kind: str, tmp_path: Path) -> None:
    with nodes(store, tmp_path) as two:
        two.hosts.github.checks = False  # the short form checks requests against the API description of GitHub
        pairs = Pairs(two.site(kind, PAIRS))
        pairs.run(PAIRS)
        witness = Witness(pairs.site.git, pairs.start)
        witness.check(pairs)
        two.check_index(pairs)
        print(
            f"\n{kind}: {PAIRS} pairs, {pairs.statuses()}, {len(pairs.pushes)} outside pushes, {pairs.faults} faults,"
            f" {len(witness.commits)} commits, every acknowledged one reachable, none twice, none overwritten"
        )
