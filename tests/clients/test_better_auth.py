"""Service on a loopback port with the JavaScript client of better-auth."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask_migrate import upgrade
from werkzeug.serving import make_server

from app.core.jobs import registry
from app.extensions import db
from app.factory import create_app
from app.worker import JobRunner
from config import Settings
from tests.clients.node import packages
from tests.support.doubles.social import SocialDouble
from tests.support.servers.ports import free_port
from tests.support.world import World

PASSWORD = "Quiet-Harbour-77"
HERE = Path(__file__).parent / "better-auth"


@pytest.fixture(scope="module")
def installed() -> Path:
    """Return the folder with the packages of the client."""
    return packages(HERE)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Run the service with its worker, mail as files and both login providers."""
    home = tmp_path_factory.mktemp("service")
    port = free_port()
    with SocialDouble() as double:
        settings = Settings.for_tests(
            home, PORT=port, MAIL_DRIVER="file", MAIL_DIR=home / "mail", RATE_LIMIT_SCALE=1000, **double.environment
        )
        (home / "mail").mkdir()
        app = create_app(settings)
        with app.app_context():
            upgrade(directory=str(Path(__file__).parents[2] / "migrations"))
        engine, stop = app.extensions["jobs"], threading.Event()
        server = make_server("127.0.0.1", port, app, threaded=True)
        due = {name: job for name, job in registry.items() if job.every is None}
        threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}),
            threading.Thread(
                target=engine.work,
                args=(JobRunner(app, registry, engine.report),),
                kwargs={"jobs": due, "stop": stop, "concurrency": 1},
            ),
        ]
        for thread in threads:
            thread.start()
        yield settings
        stop.set()
        server.shutdown()
        for thread in threads:
            thread.join(30)
        server.server_close()
        with app.app_context():
            db.engine.dispose()


def run_client(folder: Path, name: str, *arguments: str) -> None:
    """Run a script in the folder of the packages."""
    script = folder / name
    shutil.copy(HERE / name, script)
    done = subprocess.run(["node", str(script), *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all well" in done.stdout


class TestBetterAuthClient:
    def test_client_completes_the_account_life_cycle(self, installed: Path, service: Settings) -> None:
        run_client(installed, "client.mjs", service.server.base_url, str(service.mail.directory))

    @pytest.mark.parametrize("form", ["baseURL", "basePath"])
    def test_client_registers_and_uses_passkeys(self, installed: Path, service: Settings, form: str) -> None:
        app = create_app(service)
        person = World(app).person()
        person.patch("/user/set-password", {"newPassword": PASSWORD}).ok()
        with app.app_context():
            db.engine.dispose()
        run_client(installed, "passkeys.mjs", service.server.base_url, form, person.email, PASSWORD)

    @pytest.mark.parametrize("form", ["baseURL", "basePath"])
    def test_client_calls_each_route_of_the_second_factor(self, installed: Path, service: Settings, form: str) -> None:
        run_client(installed, "two_factor.mjs", service.server.base_url, str(service.mail.directory), form)
