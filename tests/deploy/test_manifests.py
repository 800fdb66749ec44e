"""Tests of compose.yaml and the Kubernetes manifests: they agree with the cluster, the image and the service."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compose_spec
import pytest
import yaml
from dotenv import dotenv_values
from flask import Flask

from app.settings.variables import Environment
from config import Settings
from tests.deploy.test_dockerfile import ENVIRONMENT, IMAGE, PROCFILE
from tests.serving.processes import ROOT

pytestmark = pytest.mark.one_database

KUBERNETES = ROOT / "deploy" / "kubernetes"
VERSION = "1.33"
# Variables of the AWS client. They are not settings of the service.
AWS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"}
SECRETS = {
    "SECRET_KEY": "wn1Zc7bq0Pj4Yx8Ls5Vt2Kd6Rf9Gh3Mm",
    "ENCRYPTION_KEYS": "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
    "AWS_ACCESS_KEY_ID": "a",
    "AWS_SECRET_ACCESS_KEY": "b",
    "POSTGRES_PASSWORD": "c",
}
# Variables of the secret of a Kubernetes installation (listed in deploy/kubernetes/base/galley.env).
IN_THE_SECRET = {
    **{name: SECRETS[name] for name in ("SECRET_KEY", "ENCRYPTION_KEYS", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")},
    "DATABASE_URL": "postgresql+psycopg://galley:c@postgres/galley",
    "REDIS_URL": "redis://redis:6379/0",
    "SMTP_URL": "smtp://mail.example.org:587",
}
GONE_WITHIN_S = 30


def cluster() -> dict[str, str]:
    content = dotenv_values(ROOT / "deploy" / "cluster.env", interpolate=False)
    return {name: str(value) for name, value in content.items() if not name.startswith("CLUSTER_")}


def compose() -> Any:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def of_compose(service: str) -> dict[str, str]:
    """Return the environment of a container with a `.env` that contains only the required variables."""

    def value_of(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(":")
        return SECRETS[name] if default.startswith("?") else default.removeprefix("-")

    values = {name: re.sub(r"\$\{([^}]+)\}", value_of, str(value)) for name, value in environment_of(service).items()}
    return ENVIRONMENT | values


def environment_of(service: str) -> dict[str, str]:
    found: dict[str, str] = compose()["services"][service]["environment"]
    return found


def of_kubernetes() -> dict[str, str]:
    content = dotenv_values(KUBERNETES / "base" / "galley.env", interpolate=False)
    return ENVIRONMENT | {name: str(value) for name, value in content.items()} | IN_THE_SECRET


def manifests() -> Iterator[dict[str, Any]]:
    for file in sorted((KUBERNETES / "base").glob("*.yaml")):
        if file.name != "kustomization.yaml":
            yield from yaml.safe_load_all(file.read_text())


def manifest(kind: str, name: str) -> Any:
    return next(found for found in manifests() if (found["kind"], found["metadata"]["name"]) == (kind, name))


def pod(kind: str, name: str) -> Any:
    return manifest(kind, name)["spec"]["template"]["spec"]


def variables(environment: dict[str, str]) -> set[str]:
    return set(environment) & (set(Environment().fields) | AWS)


class TestVariables:
    def test_variables_of_all_manifests_are_settings(self) -> None:
        known = set(Environment().fields) | AWS
        base = set(dotenv_values(KUBERNETES / "base" / "galley.env", interpolate=False))
        example = yaml.safe_load((KUBERNETES / "example" / "kustomization.yaml").read_text())
        literals = {each.partition("=")[0] for each in example["configMapGenerator"][0]["literals"]}
        for told in (set(cluster()), set(environment_of("web")), base, literals, set(IN_THE_SECRET)):
            assert told - known == set()

    def test_cluster_compose_and_kubernetes_set_the_same_variables(self) -> None:
        made = {"SECRET_KEY", "ENCRYPTION_KEYS", "HOST", "PORT", *AWS}  # Set by deploy/cluster.py.
        assert variables(of_compose("web")) == set(cluster()) | made
        assert variables(of_kubernetes()) == set(cluster()) | made | {"SMTP_URL"}

    @pytest.mark.parametrize("way", [lambda: of_compose("web"), of_kubernetes], ids=["compose", "kubernetes"])
    def test_manifests_produce_the_production_settings_of_the_cluster(self, way: Any, tmp_path: Path) -> None:
        ours = cluster() | {name: SECRETS[name] for name in ("SECRET_KEY", "ENCRYPTION_KEYS")}
        ours |= {"BASE_URL": "http://127.0.0.1:8080", "S3_ENDPOINT_URL": "http://127.0.0.1:8103"}
        one, other = (
            Settings.from_environment(given | {"INSTANCE_DIR": str(tmp_path)}) for given in (ours, dict(way()))
        )
        assert other.is_production
        assert other.server.trusted_hops == one.server.trusted_hops
        assert other.storage.driver == one.storage.driver
        assert (other.database.url.partition(":")[0], bool(other.redis_url)) == ("postgresql+psycopg", True)

    def test_compose_processes_have_the_same_environment(self) -> None:
        assert environment_of("web") == environment_of("worker") == environment_of("migrate")

    def test_kubernetes_containers_have_the_same_environment(self) -> None:
        places = [{"configMapRef": {"name": "galley"}}, {"secretRef": {"name": "galley"}}]
        pods = [pod("Deployment", "web"), pod("Deployment", "worker"), pod("Job", "migrate")]
        containers = [each for one in pods for each in [*one["containers"], *one.get("initContainers", ())]]
        assert [each["envFrom"] for each in containers] == [places] * 5


class TestProcesses:
    def test_processes_equal_those_of_the_procfile_and_the_migration(self) -> None:
        values = {"web": PROCFILE["web"], "worker": PROCFILE["worker"], "migrate": "flask db upgrade"}
        services = compose()["services"]
        assert {name: " ".join(services[name]["command"]) for name in values} == values
        kinds = {"web": "Deployment", "worker": "Deployment", "migrate": "Job"}
        assert {name: " ".join(pod(kinds[name], name)["containers"][0]["command"]) for name in values} == values

    def test_init_commands_exist(self, app: Flask) -> None:
        for name in ("web", "worker"):
            [waits] = pod("Deployment", name)["initContainers"]
            assert waits["command"] == ["flask", "database", "await"]
        assert "await" in app.cli.commands["database"].commands  # type: ignore[attr-defined]

    def test_grace_period_is_longer_than_the_drain(self) -> None:
        for name in ("web", "worker"):
            assert int(compose()["services"][name]["stop_grace_period"].removesuffix("s")) > GONE_WITHIN_S
            pod_spec = pod("Deployment", name)
            stop = (
                pod_spec["containers"][0]
                .get("lifecycle", {})
                .get("preStop", {})
                .get("exec", {})
                .get("command", ["", "0"])
            )
            assert pod_spec["terminationGracePeriodSeconds"] >= int(stop[1]) + GONE_WITHIN_S

    def test_containers_cannot_run_as_root(self) -> None:
        uid = int(re.findall(r"useradd --uid (\d+)", IMAGE)[0])
        for kind, name in (("Deployment", "web"), ("Deployment", "worker"), ("Job", "migrate")):
            pod_spec = pod(kind, name)
            assert (pod_spec["securityContext"]["runAsNonRoot"], pod_spec["securityContext"]["runAsUser"]) == (
                True,
                uid,
            )
            for container in [*pod_spec["containers"], *pod_spec.get("initContainers", ())]:
                assert container["securityContext"] == {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                }
            assert compose()["services"][name]["cap_drop"] == ["ALL"]


class TestPorts:
    def test_ports_equal_the_port_of_the_image(self) -> None:
        port = int(ENVIRONMENT["PORT"])
        assert f"server web:{port} " in compose()["services"]["nginx"]["environment"]["GALLEY_SERVERS"]
        assert dotenv_values(KUBERNETES / "base" / "galley.env")["PORT"] == str(port)
        [told] = pod("Deployment", "web")["containers"][0]["ports"]
        assert told == {"name": "http", "containerPort": port}
        [service] = manifest("Service", "web")["spec"]["ports"]
        assert service["targetPort"] == "http"
        for name in ("galley", "previews"):
            [rule] = manifest("Ingress", name)["spec"]["rules"]
            assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "web", "port": {"name": service["name"]}}

    def test_probes_use_existing_routes(self, app: Flask) -> None:
        container = pod("Deployment", "web")["containers"][0]
        paths = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
        assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
        assert set(paths.values()) <= {str(rule) for rule in app.url_map.iter_rules()}

    def test_ingress_has_the_limits_of_nginx(self) -> None:
        template = (ROOT / "deploy" / "nginx" / "galley.conf.template").read_text()
        service, previews = template.split("\nserver {")[1:]
        common = template.split("\nserver {")[0]
        for name, text in (("galley", service), ("previews", previews)):
            for annotation, value in manifest("Ingress", name)["metadata"]["annotations"].items():
                word = annotation.rpartition("/")[2].replace("-", "_")
                word = {"proxy_body_size": "client_max_body_size"}.get(word, word)
                match = re.search(rf"^\s*{word} (.+);", text, re.MULTILINE) or re.search(
                    rf"^\s*{word} (.+);", common, re.MULTILINE
                )
                assert match is not None, word
                assert match[1].removesuffix("s") == value, word

    def test_compose_sets_all_variables_of_the_nginx_template(self) -> None:
        template = (ROOT / "deploy" / "nginx" / "galley.conf.template").read_text()
        assert set(re.findall(r"\$\{([A-Z_]+)\}", template)) == set(environment_of("nginx"))


class TestCompose:
    def test_file_follows_the_compose_specification(self) -> None:
        compose_spec.PyOptions(apply_merge=True).from_yaml((ROOT / "compose.yaml").read_text()).validate()

    def test_services_depend_on_existing_conditions(self) -> None:
        """The parser accepts dependencies on services that do not exist, and conditions that never become true."""
        services = compose()["services"]
        healthy = {name for name, each in services.items() if "test" in each.get("healthcheck", {})} | {"web"}
        ending = {"migrate"}
        for name, each in services.items():
            for target, option in each.get("depends_on", {}).items():
                states = {"service_healthy": healthy, "service_completed_successfully": ending}
                assert target in states[option["condition"]], (name, target)


class TestKubernetes:
    @pytest.mark.parametrize(
        "found", list(manifests()), ids=lambda found: f"{found['kind']}-{found['metadata']['name']}"
    )
    def test_manifests_are_valid(self, found: dict[str, Any]) -> None:
        import kubernetes_validate

        kubernetes_validate.validate(found, VERSION, strict=True)

    def test_example_overlay_is_valid(self) -> None:
        import kubernetes_validate

        # Optional also under CI: the kubectl of Debian 12 has no `labels` of kustomizations.
        if shutil.which("kubectl") is None:
            pytest.skip("kubectl is not installed")
        done = subprocess.run(
            ["kubectl", "kustomize", str(KUBERNETES / "example")], capture_output=True, text=True, check=True
        )
        built = list(yaml.safe_load_all(done.stdout))
        for found in built:
            kubernetes_validate.validate(found, VERSION, strict=True)
        [given] = [found for found in built if found["kind"] == "ConfigMap"]
        assert given["data"]["BASE_URL"] == "https://cms.example.org"
        [web] = [found for found in built if (found["kind"], found["metadata"]["name"]) == ("Deployment", "web")]
        container = web["spec"]["template"]["spec"]["containers"][0]
        assert container["image"] == "registry.example.org/galley:1.0.0"
        assert container["envFrom"][0]["configMapRef"]["name"] == given["metadata"]["name"]

    def test_selectors_match_their_pods(self) -> None:
        for name in ("web", "worker"):
            labels = manifest("Deployment", name)["spec"]["template"]["metadata"]["labels"]
            assert manifest("Deployment", name)["spec"]["selector"]["matchLabels"] == labels
            assert manifest("PodDisruptionBudget", name)["spec"]["selector"]["matchLabels"] == labels
            assert manifest("HorizontalPodAutoscaler", name)["spec"]["scaleTargetRef"]["name"] == name
        assert manifest("Service", "web")["spec"]["selector"] == {"app.kubernetes.io/component": "web"}

    def test_kustomizations_list_every_file_and_existing_patch_targets(self) -> None:
        base = yaml.safe_load((KUBERNETES / "base" / "kustomization.yaml").read_text())
        files = {file.name for file in (KUBERNETES / "base").glob("*.yaml")} - {"kustomization.yaml"}
        assert set(base["resources"]) == files
        example = yaml.safe_load((KUBERNETES / "example" / "kustomization.yaml").read_text())
        assert example["resources"] == ["../base"]
        for each in example["patches"]:
            target = manifest(each["target"]["kind"], each["target"]["name"])
            for change in yaml.safe_load(each["patch"]):
                place: Any = target
                for step in change["path"].strip("/").split("/"):
                    place = place[int(step)] if isinstance(place, list) else place[step]
                assert type(place) is type(change["value"])
