"""Program that indexes a branch in a new process and prints the growth of its memory in megabytes.

Arguments: the instance folder, the database URL, the project id.
"""

import sys
import threading
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))


def resident_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 1024 / 1024


def main(home: str, url: str, project_id: str) -> float:
    from app.database import transactions
    from app.extensions import db
    from app.factory import create_app
    from app.models.project import Project
    from app.resources.project_content.index import indexes, indexing
    from app.resources.project_content.source import source_of
    from config import Settings

    app = create_app(Settings.for_tests(Path(home), DATABASE_URL=url, LOG_LEVEL="ERROR"))
    with app.app_context():
        transactions.start_reading()
        project = db.session.get_one(Project, project_id)
        index = indexes.find(project.id, project.branch)
        assert index is not None
        source = source_of(project, app.extensions["drivers"].git)
        before, most, stop = resident_mb(), [0.0], threading.Event()

        def watch() -> None:
            while not stop.wait(0.01):
                most[0] = max(most[0], resident_mb() - before)

        thread = threading.Thread(target=watch)
        thread.start()
        indexing.update_index(index, source, lambda _done, _total: None)
        stop.set()
        thread.join()
        transactions.start_reading()
        db.session.refresh(index)
        assert index.files > 0
        return most[0]


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
