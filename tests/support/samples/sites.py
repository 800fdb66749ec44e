"""Small sites for test repositories."""

from tests.support.samples.gitrepo import Content

SMALL: dict[str, Content] = {
    "hugo.toml": b'baseURL = "https://example.com/"\n',
    "content/posts/hello.md": b"---\ntitle: Hello\n---\n\n# Hello\n",
    "static/logo.txt": b"logo\n",
}
