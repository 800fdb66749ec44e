"""A typed script with the models of datamodel-code-generator. Usage: datamodel_code_generator.py URL EMAIL PASSWORD."""

import sys
import time

import httpx
from galley_models import AuthSignedIn, Failure, ProjectContentCommitted, ProjectContentTree, ProjectProject

base, email, password = sys.argv[1:]
client = httpx.Client(base_url=f"{base}/api/v1")
answer = client.post("/auth/sign-in/email", json={"email": email, "password": password})
signed_in = AuthSignedIn.model_validate(answer.json()["result"])
print("User:", signed_in.user.name)

projects = client.get(f"/project/user/{signed_in.user.id}").json()["result"]
project = ProjectProject.model_validate(projects[0]).project_id
tree = ProjectContentTree.model_validate(client.get(f"/project-content/{project}").json()["result"])
print("Tree:", tree.branch, str(any(file.path == "content/about.md" for file in tree.files)).lower())


def save(text: str) -> httpx.Response:
    file = {"path": "content/about.md", "action": "update", "content": text}
    body = {"message": "Edit", "base_sha": tree.commit_sha, "files": [file]}
    return client.post(f"/project-content/{project}/commit", json=body)


saved = ProjectContentCommitted.model_validate(save(f"# About {time.time()}\n").json()["result"])
print("Saved:", saved.files[0].path)
refused = Failure.model_validate(save(f"# Other {time.time()}\n").json())
print("Conflict:", refused.statusCode, refused.code.value)
