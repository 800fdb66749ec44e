"""Search of 100,000 documents: duration, and equality with a brute-force search."""

import random
import time
from statistics import quantiles
from typing import Any

import pytest
from flask import Flask

from app.content.search_query import field_term
from app.content.search_text import SearchText
from app.database import inserts, transactions
from app.extensions import db
from app.models.project_content import ContentFile, ContentIndex, IndexStatus
from app.resources.project_content import statistics
from app.resources.project_content.index import indexing, search_indexing
from tests.bench import large
from tests.support import factories
from tests.support.world import Person, World

DOCUMENTS, QUESTIONS, LIMIT = 100_000, 500, 50
KINDS = ("guide", "news", "recipe", "letter")


class Document:
    """A page."""

    def __init__(self, number: int, dice: random.Random) -> None:
        self.path = (
            f"content/{KINDS[number % 4]}/part-{number // 500:03}/page-{number:06}.{'md' if number % 10 else 'txt'}"
        )
        self.number, self.kind, self.sha = number, dice.choice(KINDS), f"{number:040x}"
        self.said = [*dice.choices(large.VOCABULARY, k=20), f"only{number % 20_000}"]

    @property
    def text(self) -> SearchText:
        """Return the text of the page: front matter with title and kind, then the body."""
        title, words = f"Page {self.number}", ["title", "page", str(self.number), "kind", self.kind, *self.said]
        fields = [("title", "page"), ("title", str(self.number)), ("kind", self.kind)]
        return SearchText(title, " ".join(self.said), [field_term(*field) for field in fields], words, [])


class BruteForce:
    """A search that reads every document."""

    def __init__(self, documents: list[Document]) -> None:
        self._documents = documents
        self._holding: dict[str, set[str]] = {}
        for document in documents:
            for word in (*document.text.terms, *document.text.field_terms):
                self._holding.setdefault(word, set()).add(document.path)

    def search(self, question: str) -> set[str]:
        """Return the paths that match every term."""
        return set.intersection(*(self._meeting(term) for term in question.split(" ")))

    def _meeting(self, term: str) -> set[str]:
        name, colon, value = term.rpartition(":")
        if colon and name in ("path", "type"):
            part = value if name == "path" else ".txt"
            return {document.path for document in self._documents if part in document.path}
        if colon:
            return self._holding.get(field_term(name, value), set())
        bare = term.rstrip("*")
        by_path = {document.path for document in self._documents if bare in document.path}
        if term.endswith("*"):
            return by_path.union(*(paths for word, paths in self._holding.items() if word.startswith(bare)))
        return by_path | set.intersection(*(self._holding.get(word, set()) for word in bare.split("-")))


class Library:
    """A project with these documents, which are written directly to the index."""

    def __init__(self, world: World, documents: list[Document]) -> None:
        self.app, self.owner, self.documents = world.app, world.person(), documents
        name, _ = factories.repository(world, {"a.md": b"a\n"})
        self.project = factories.project(world, self.owner, factories.organization(world, self.owner), name)
        transactions.start_reading()
        index = large.index_of(self.app, self.project)[0]
        self._write_files(index.id)
        growth = statistics.GrowthStatistics(search_indexing.FILTER_COLUMNS)
        for part in inserts.batches(documents, 1_000):
            search_indexing._store(self.project, [search_indexing._Read(d.sha, d.text) for d in part])
            growth.add(len(part))
        statistics.analyze(ContentFile, ("index_id", "generation", "path"))

    def _write_files(self, index_id: str) -> None:
        for part in inserts.batches(sorted(self.documents, key=lambda d: d.path), 5_000):
            rows = [(index_id, 1, d.path, "blob", "100644", d.sha, 500, None, None) for d in part]
            with transactions.write_transaction():
                table: Any = ContentFile.__table__
                inserts.insert(db.session.connection(), table, indexing.COLUMNS, rows)
        with transactions.write_transaction():
            index = db.session.get_one(ContentIndex, index_id)
            index.status, index.generation, index.commit_sha = IndexStatus.READY, 1, "0" * 40
            index.files = len(self.documents)

    def find(self, question: str, who: Person | None = None) -> Any:
        query = {"q": question, "limit": LIMIT}
        return (who or self.owner).get(f"/project-content/{self.project}/search", query_string=query)


def _ask(dice: random.Random) -> str:
    """Return a random query of one of the usual kinds."""
    word = dice.choice(large.VOCABULARY)
    return dice.choice([
        f"only{dice.randint(0, 20_000)}",
        word,
        f"{word} {dice.choice(large.VOCABULARY)}",
        f"{word[:3]}*",
        f"{word[:-1]}*",
        f"only{dice.randint(0, 2_000)}*",
        f"path:page-{dice.randint(0, 100_000):06}",
        f"path:part-{dice.randint(0, 199):03} {word}",
        f"kind:{dice.choice(KINDS)} {word}",
        f"type:txt {word}",
        f"page-{dice.randint(0, 100_000):06}",
        f"title:{dice.randint(0, 100_000)}",
        dice.choice(["page", "part", "content", "nothingholdsthis"]),
    ])  # fmt: skip


class TestSearch:
    def test_search_results_equal_those_of_brute_force(self, app: Flask, capsys: pytest.CaptureFixture[str]) -> None:
        dice, world = random.Random(3), World(app)
        documents = [Document(number, dice) for number in range(DOCUMENTS)]
        secret = [Document(number, dice) for number in range(DOCUMENTS, DOCUMENTS + 2_000)]
        library, other = Library(world, documents), Library(world, secret)
        brute_force, taken, used = BruteForce(documents), dict[str, float](), list[float]()
        for question in {_ask(dice): None for _ in range(QUESTIONS * 2)}:
            if len(taken) == QUESTIONS:
                break
            started, cpu = time.perf_counter(), time.process_time()
            hits = library.find(question).ok()
            taken[question] = (time.perf_counter() - started) * 1_000
            used.append((time.process_time() - cpu) * 1_000)
            search = brute_force.search(question)
            found = {hit["path"] for hit in hits}
            assert found <= search, (question, found - search)
            assert len(found) == min(LIMIT, len(search)), (question, len(found), len(search))
        other.find("page", library.owner).fails(403)
        p50, p95 = (quantiles(taken.values(), n=100)[place] for place in (49, 94))
        cpu_p95 = quantiles(used, n=100)[94]
        slowest = sorted(taken, key=taken.__getitem__, reverse=True)[:5]
        with capsys.disabled():
            print(
                f"\n{db.engine.dialect.name}: {len(taken)} questions to {DOCUMENTS} documents, recall 1, nothing foreign;"
                f" p50 {p50:.0f} ms, p95 {p95:.0f} ms, CPU of this process p95 {cpu_p95:.0f} ms; slowest {[(q, round(taken[q])) for q in slowest]}"
            )
