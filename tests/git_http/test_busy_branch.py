"""A branch on which others save faster than a client can pull and push: the steps of `docs/git-access.md`."""

from pathlib import Path

from tests.git_http.client import GitClient, Site

GUIDE = Path(__file__).parents[2] / "docs" / "git-access.md"


def save(site: Site, path: str) -> None:
    """Save a file through the API, as another person does."""
    body = {"message": "Edit", "base_sha": site.head(), "files": [{"path": path, "action": "create", "content": "A\n"}]}
    site.owner.post(f"/project-content/{site.project}/commit", body).ok(201)


def commands(title: str) -> list[str]:
    """Return the Git commands of a section of the page."""
    section = GUIDE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line.strip() for line in section.splitlines() if line.strip().startswith("git ")]


class TestBusyBranch:
    def test_change_set_brings_commits_to_a_branch_that_moves_before_each_step(
        self, site: Site, git: GitClient
    ) -> None:
        site.owner.patch(f"/project/{site.project}", {"required_approvals": 0}).ok()
        site.world.work_off()
        git.clone(site.url(site.token()))
        git.commit("site", {"own/one.md": b"1\n"})
        git.commit("site", {"own/two.md": b"2\n", "README.md": b"# Own\n"})
        save(site, "a.md")
        assert "fetch first" in git.run("push", within="site").messages
        made = site.owner.post(f"/project/{site.project}/change-sets", {"title": "Import"}).ok(201)
        steps = commands("How to push while others save")
        assert [step.split()[1] for step in steps] == ["fetch", "rebase", "push", "fetch", "reset"]
        for number, step in enumerate(steps):
            if number < 4:
                save(site, f"others/{number}.md")
            if number == 3:
                site.world.work_off()
                site.owner.post(f"/change-set/{made['id']}/publish").ok()
            words = [word.strip('"').replace("$branch", made["branch"]) for word in step.split()[1:]]
            git.ok(*words, within="site")
        folder = git.folder / "site"
        assert (folder / "README.md").read_text() == "# Own\n"
        assert {file.name for file in (folder / "own").iterdir()} == {"one.md", "two.md"}
        assert {file.name for file in (folder / "others").iterdir()} == {"0.md", "1.md", "2.md", "3.md"}
        assert git.run("push", within="site").code == 0
