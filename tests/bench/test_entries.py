"""Entries and inferred schemas of a site with 50,000 files, compared with a request for one project."""

import time

import pytest
from flask import Flask

from app.database import transactions
from app.extensions import db
from app.resources.project_content.index import search_indexing
from app.resources.project_content.schema.schema_sources import infer
from tests.bench import large
from tests.bench.test_content import Site, _cpu_ms, _median_ms
from tests.support.world import World

FILES = 50_000
GOAL = 3
PAGES = (
    "",
    "?folder=content/section-0100",
    "?sort=-date&fields=title,date",
    "?sort=title",
    "?sort=-date&filter[tags][contains]=b7",
    "?sort=title&filter[date][gte]=2024-01-02",
    "?filter[date][gte]=2024-01-02&filter[title]=Post 777",
    "?filter[tags][contains]=b7",
    "?filter[none]=x",
    "?filter[title][missing]=true",
    "?sort=-date&filter[date][missing]=true",
    "?filter[none][missing]=true",
)


class TestEntries:
    def test_first_page_and_inference_costs_are_printed(self, app: Flask, capsys: pytest.CaptureFixture[str]) -> None:
        site = Site(World(app), FILES)
        site.index()
        index, source = large.index_of(app, site.project)
        search_indexing.index_new_texts(index, source, at_most=None, progress=lambda *_: None)
        client = site.owner.client
        one_cpu = _cpu_ms(lambda: client.get(f"/api/v1/project/{site.project}"))
        one = _median_ms(lambda: client.get(f"/api/v1/project/{site.project}"))
        lines = [f"\n{db.engine.dialect.name}: first pages of {FILES} entries; one project {one:.1f} ms"]
        for page in PAGES:
            url = site.url(f"/entries{page}")
            site.owner.get(url).ok()
            taken = _median_ms(lambda url=url: client.get(f"/api/v1{url}"), 15)
            cpu = _cpu_ms(lambda url=url: client.get(f"/api/v1{url}"), 20)
            lines.append(
                f"  {page or '/'}: {taken:.1f} ms, {taken / one:.2f} × one project (goal {GOAL}), CPU {cpu / one_cpu:.2f} ×"
            )
        transactions.start_reading()
        index, _ = large.index_of(app, site.project)
        started = time.perf_counter()
        collections = infer(site.project, index)
        taken = (time.perf_counter() - started) * 1_000
        transactions.release_connection()
        first = _median_ms(lambda: client.get(f"/api/v1/project/{site.project}/schema"), 15)
        lines.append(
            f"  inference: {taken:.0f} ms, {len(collections)} collections; again {first / one:.2f} × one project"
        )
        with capsys.disabled():
            print("\n".join(lines))
