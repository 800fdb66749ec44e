"""User of the demo in a running service, and calls for its preview."""

from pathlib import Path
from typing import Any

from tests.serving.processes import Service
from tests.serving.visitor import Visitor


class Member(Visitor):
    """A member of the demo organization, chosen by role."""

    def __init__(self, service: Service, role: str = "owner") -> None:
        super().__init__()
        self.service = service
        password = (service.home / "instance" / "demo_password").read_text().strip()
        self.call("/api/v1/auth/sign-in/email", {"email": f"{role}@demo.example.org", "password": password})
        me = self.call("/api/v1/auth/get-session")["user"]["id"]
        projects = self.call(f"/api/v1/project/user/{me}")
        self.project = str(projects[0]["project_id"]) if projects else ""

    def call(self, path: str, body: Any = None, *, method: str | None = None) -> Any:
        """Return the `result` of a successful call: POST with a body, GET without."""
        method = method or ("POST" if body is not None else "GET")
        response = self.send(method, self.service.base + path, body, {"Accept": "application/json"}, timeout_s=300)
        assert response.status in (200, 201), response.text
        return response.json()["result"]

    def connect(self, folder: Path, name: str) -> str:
        """Create a project on a new repository with the files of a folder and return its id."""
        organization = self.call(f"/api/v1/project/{self.project}")["org_id"]
        repository = f"sites/{name}"
        self.service.flask("git", "create", repository, "--org", organization, "--from", str(folder))
        body = {"org_id": organization, "project_name": name, "provider": "local", "repository": repository}
        return str(self.call("/api/v1/project/create", body | {"branch": "main"})["project_id"])

    def create(self, **body: Any) -> Any:
        """Start the preview or connect to it, and return the response when it runs."""
        return self.call("/api/sandbox/create", {"projectId": self.project} | body)

    def beat(self) -> Any:
        """Extend the lease of the preview."""
        return self.call("/api/sandbox/heartbeat", {"projectId": self.project})

    def stop(self, preview: Any = None) -> None:
        """Stop the preview of the project, or another one."""
        named = {"sandboxId": preview["sandboxId"]} if preview else {"projectId": self.project}
        self.call("/api/sandbox/stop", named)

    def record(self) -> Any:
        """Return the preview record of the project."""
        return self.call(f"/api/v1/project-preview/{self.project}")


def host_of(preview: Any) -> str:
    """Return the URL of the preview without the access token."""
    return str(preview["previewUrl"].partition("?")[0].rstrip("/"))


def root_of(service: Service) -> Path:
    """Return the folder of the sandboxes."""
    return service.home / "instance" / "sandboxes"
