"""Tests of `flask index`."""

from click.testing import Result

from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.world import World


def verify(site: Site) -> Result:
    """Run the command for the project of the site."""
    return site.world.app.test_cli_runner().invoke(args=["index", "verify", site.project])


class TestVerify:
    def test_equal_index_prints_one_line(self, world: World) -> None:
        result = verify(make_site(world, FILES))
        assert result.exit_code == 0
        assert result.output.endswith("the index equals the repository.\n")

    def test_stale_index_lists_commits_and_files(self, world: World) -> None:
        site = make_site(world, FILES)
        old = site.repo.head()
        new = site.repo.commit({"content/new.md": b"# New\n", "hugo.toml": b'title = "Large"\n'})
        result = verify(site)
        assert result.exit_code == 1
        assert f"the index is at {old}, the branch main at {new}" in result.output
        assert "missing from the index: content/new.md" in result.output
        assert "hugo.toml: sha is" in result.output
        assert "content/about.md" not in result.output

    def test_unknown_project_exits_with_a_message(self, world: World) -> None:
        result = world.app.test_cli_runner().invoke(args=["index", "verify", "prj_unknown"])
        assert (result.exit_code, result.output) == (1, "Error: There is no project prj_unknown.\n")
