"""A typed script with the client of openapi-python-client. Usage: client.py URL EMAIL PASSWORD."""

import json
import sys
import time

from galley_client import AuthenticatedClient, Client
from galley_client.api.auth import sign_in
from galley_client.api.project import list_user_projects
from galley_client.api.project_content import commit_files, get_project_tree
from galley_client.models.ai_editor_command_body import AiEditorCommandBody
from galley_client.models.ai_text_delta_part import AiTextDeltaPart
from galley_client.models.auth_sign_in_body import AuthSignInBody
from galley_client.models.commit_files_response_201 import CommitFilesResponse201
from galley_client.models.failure import Failure
from galley_client.models.get_project_tree_response_200 import GetProjectTreeResponse200
from galley_client.models.http_failure_data import HttpFailureData
from galley_client.models.list_user_projects_response_200 import ListUserProjectsResponse200
from galley_client.models.project_content_commit_files_body import ProjectContentCommitFilesBody
from galley_client.models.project_content_edited_file import ProjectContentEditedFile
from galley_client.models.project_content_edited_file_action import ProjectContentEditedFileAction
from galley_client.models.sign_in_response_200 import SignInResponse200
from galley_client.types import Unset

PAGE = "content/about.md"
url, email, password = sys.argv[1:]
anonymous = Client(base_url=url)
# The HTTP client keeps the cookie of the session. A program with an API token passes the token instead.
client = AuthenticatedClient(base_url=url, token="").set_httpx_client(anonymous.get_httpx_client())

signed_in = sign_in.sync(client=anonymous, body=AuthSignInBody(email=email, password=password))
assert isinstance(signed_in, SignInResponse200), signed_in
assert not isinstance(signed_in.user, Unset), "The account has a second factor"
print("User:", signed_in.user.name)

projects = list_user_projects.sync(signed_in.user.id, client=client)
assert isinstance(projects, ListUserProjectsResponse200), projects
project_id = projects.result[0].project_id

read = get_project_tree.sync(project_id, client=client)
assert isinstance(read, GetProjectTreeResponse200), read
tree = read.result
assert isinstance(tree.commit_sha, str), tree.status
print("Tree:", tree.branch, "true" if any(file.path == PAGE for file in tree.files) else "false")


def save(base_sha: str, text: str) -> object:
    """Save the page and return the response."""
    file = ProjectContentEditedFile(path=PAGE, action=ProjectContentEditedFileAction.UPDATE, content=text)
    body = ProjectContentCommitFilesBody(message="Edit", base_sha=base_sha, files=[file])
    return commit_files.sync(project_id, client=client, body=body)


stamp = time.time_ns()
saved = save(tree.commit_sha, f"# About {stamp}\n")
assert isinstance(saved, CommitFilesResponse201), saved
print("Saved:", saved.result.files[0].path)

refused = save(tree.commit_sha, f"# Other {stamp}\n")
assert isinstance(refused, Failure), refused
assert refused.code == "CONFLICT"
assert isinstance(refused.result, HttpFailureData)
assert isinstance(refused.result.head_sha, str)
assert isinstance(refused.result.paths, list)
print("Conflict:", refused.status_code, refused.result.paths[0])
again = save(refused.result.head_sha, f"# Other {stamp}\n")
assert isinstance(again, CommitFilesResponse201), again
print("Resolved:", again.result.files[0].path)

text = ""
prompt = AiEditorCommandBody(prompt="Write a greeting", project_id=project_id)
with client.get_httpx_client().stream("POST", "/api/ai/command", json=prompt.to_dict()) as reply:
    for line in reply.iter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            part = json.loads(line.removeprefix("data: "))
            if part["type"] == "text-delta":
                text += AiTextDeltaPart.from_dict(part).delta
print("Stream:", text)
