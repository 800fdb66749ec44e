"""Tests of thirty pairs of editors per host, half on each store. `tests/faults/test_edit_pairs.py` runs a thousand."""

from collections.abc import Iterator

import pytest
from gevent import monkey

from tests.support.edit_pairs.nodes import Nodes, nodes
from tests.support.edit_pairs.pairs import Pairs
from tests.support.edit_pairs.witness import Witness

pytestmark = pytest.mark.slow

PAIRS = 15


@pytest.fixture(scope="module")
def two_nodes(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with nodes(store, tmp_path_factory.mktemp("nodes")) as made:
        yield made


@pytest.mark.skipif(
    monkey.is_module_patched("threading"), reason="two nodes, their editors and the host need native threads"
)
@pytest.mark.parametrize("kind", ["github", "gitlab", "local"])
def test_parallel_edit_pairs_lose_and_duplicate_no_save(two_nodes: Nodes, kind: str) -> None:
    pairs = Pairs(two_nodes.site(kind, PAIRS))
    pairs.run(PAIRS)
    Witness(pairs.site.git, pairs.start).check(pairs)
    two_nodes.check_index(pairs)
    print(f"\n{kind}: {pairs.statuses()}, {len(pairs.pushes)} pushes, {pairs.faults} faults")
    assert sum(save.answer.status == 201 for save in pairs.saves) > PAIRS / 3
    assert two_nodes.hosts.github.violations == []
