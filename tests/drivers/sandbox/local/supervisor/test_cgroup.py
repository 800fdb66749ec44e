"""Tests of control groups on folders that imitate the files of the kernel."""

from pathlib import Path

from app.drivers.sandbox.local.supervisor.jail_process import Cgroup


def kernel(tmp_path: Path, *, controllers: str = "cpuset cpu io memory pids", own: str = "/app.service/main") -> Path:
    """Return a delegated folder that contains the group of this process."""
    parent = tmp_path / "app.service"
    (parent / "main").mkdir(parents=True)
    (parent / "cgroup.controllers").write_text(controllers)
    (parent / "cgroup.subtree_control").write_text("")
    (tmp_path / "own").write_text(f"0::{own}\n")
    return tmp_path


class TestSibling:
    def test_sibling_with_delegated_controllers_returns_a_group(self, tmp_path: Path) -> None:
        root = kernel(tmp_path)
        group = Cgroup.sibling("label", root, root / "own")
        assert group is not None
        assert group.folder == root / "app.service" / "galley-label"
        assert (root / "app.service" / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"

    def test_sibling_without_a_controller_returns_none(self, tmp_path: Path) -> None:
        root = kernel(tmp_path, controllers="cpu pids")
        assert Cgroup.sibling("label", root, root / "own") is None

    def test_sibling_of_the_root_group_returns_none(self, tmp_path: Path) -> None:
        root = kernel(tmp_path, own="/")
        assert Cgroup.sibling("label", root, root / "own") is None

    def test_sibling_with_cgroup_version_1_returns_none(self, tmp_path: Path) -> None:
        root = kernel(tmp_path)
        (root / "own").write_text("4:memory:/x\n")
        assert Cgroup.sibling("label", root, root / "own") is None


class TestLimit:
    def test_limit_writes_the_files_of_the_kernel(self, tmp_path: Path) -> None:
        Cgroup(tmp_path).limit(memory_bytes=1024, processes=256, cpus=1)
        read = {path.name: path.read_text() for path in tmp_path.iterdir()}
        assert read == {"memory.max": "1024", "memory.swap.max": "0", "pids.max": "256", "cpu.max": "100000 100000"}

    def test_remove_kills_remaining_processes(self, tmp_path: Path) -> None:
        Cgroup(tmp_path).remove()
        assert (tmp_path / "cgroup.kill").read_text() == "1"
