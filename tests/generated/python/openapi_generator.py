"""A typed script with the client of openapi-generator (python). Usage: openapi_generator.py URL EMAIL PASSWORD."""

import sys
import time

from galley_api import ApiClient, AuthApi, AuthSignInBody, Configuration, ProjectApi, ProjectContentApi
from galley_api.exceptions import ConflictException
from galley_api.models.project_content_commit_files_body import ProjectContentCommitFilesBody

host, email, password = sys.argv[1:]
client = ApiClient(Configuration(host=host))
answer = AuthApi(client).sign_in_with_http_info(AuthSignInBody(email=email, password=password))
client.cookie = (answer.headers or {})["Set-Cookie"].partition(";")[0]
print("User:", answer.data.user.name)

projects = ProjectApi(client).list_user_projects(answer.data.user.id)
project = projects.result[0].project_id
content = ProjectContentApi(client)
tree = content.get_project_tree(project).result
print("Tree:", tree.branch, str(any(file.path == "content/about.md" for file in tree.files)).lower())


def save(text: str) -> str:
    file = {"path": "content/about.md", "action": "update", "content": text}
    body = {"message": "Edit", "base_sha": tree.commit_sha, "files": [file]}
    parsed = ProjectContentCommitFilesBody.from_dict(body)
    assert parsed is not None
    return str(content.commit_files(project, parsed).result.files[0].path)


print("Saved:", save(f"# About {time.time()}\n"))
try:
    save(f"# Other {time.time()}\n")
except ConflictException as error:
    print("Conflict:", error.status, error.data.code.value)
