"""Every shipped file of the deployment has a check by the program that reads it, or by its schema."""

from fnmatch import fnmatch

import pytest

from tests.serving.processes import ROOT

pytestmark = pytest.mark.one_database

CHECKS = {
    "deploy/grafana/*.yaml": "test_grafana.py::TestPrometheus::test_shipped_rules_are_valid",
    "deploy/grafana/*.json": "test_grafana.py::TestPrometheus::test_queries_of_the_dashboard_are_valid",
    "deploy/nginx/*.template": "test_nginx.py::TestConfiguration::test_nginx_accepts_the_template_with_the_shipped_variables",
    "deploy/systemd/*.service": "test_systemd.py::TestUnits::test_units_are_valid",
    "deploy/kubernetes/base/kustomization.yaml": "test_manifests.py::TestKubernetes::test_kustomizations_list_every_file_and_existing_patch_targets",
    "deploy/kubernetes/example/kustomization.yaml": "test_manifests.py::TestKubernetes::test_example_overlay_is_valid",
    "deploy/kubernetes/base/[!k]*.yaml": "test_manifests.py::TestKubernetes::test_manifests_are_valid",
    "deploy/kubernetes/base/galley.env": "test_manifests.py::TestVariables::test_variables_of_all_manifests_are_settings",
    "deploy/cluster.env": "test_manifests.py::TestVariables::test_variables_of_all_manifests_are_settings",
    "compose.yaml": "test_manifests.py::TestCompose::test_file_follows_the_compose_specification",
    "Dockerfile": "test_dockerfile.py::TestImage::test_image_starts_the_command_of_the_procfile",
    "Procfile": "test_dockerfile.py::TestImage::test_image_starts_the_command_of_the_procfile",
}


def shipped() -> set[str]:
    files = {path for path in (ROOT / "deploy").rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    files |= {ROOT / name for name in ("compose.yaml", "Dockerfile", "Procfile")}
    return {path.relative_to(ROOT).as_posix() for path in files}


@pytest.mark.parametrize("path", sorted(shipped()))
def test_file_has_one_existing_check(path: str) -> None:
    [node] = [node for pattern, node in CHECKS.items() if fnmatch(path, pattern)]
    module, *names = node.split("::")
    text = (ROOT / "tests" / "deploy" / module).read_text()
    assert all(f"class {name}:" in text or f"def {name}(" in text for name in names)
