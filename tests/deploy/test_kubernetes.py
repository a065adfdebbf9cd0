"""deploy/kubernetes is valid, fits together, and gives no more rights than needed."""

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

if "TEST_DEPLOY" not in os.environ:
    pytest.skip(
        "`make check-deploy` installs what this needs, and runs it", allow_module_level=True
    )

import kubernetes_validate
import yaml

from service.running.server import GRACE_SECONDS, MAX_QUIET_SECONDS
from tests.deploy.typos import with_typo
from tests.deploy.variables import check_variables

ROOT = Path(__file__).parents[2] / "deploy" / "kubernetes"
KUSTOMIZE = Path(__file__).parents[2] / "build" / "deploy" / "bin" / "kustomize"
OVERLAYS = ("single", "replicas")
VERSIONS = ("1.30", "1.34", "1.37")  # The first has `preStop.sleep`; the last is the newest known.


def build(overlay):
    done = subprocess.run(
        [KUSTOMIZE, "build", ROOT / "overlays" / overlay], check=True, capture_output=True
    )
    return list(yaml.safe_load_all(done.stdout))


BUILT = {overlay: build(overlay) for overlay in OVERLAYS}
OBJECTS = [
    pytest.param(each, id=f"{overlay}-{each['kind']}-{each['metadata']['name']}")
    for overlay, objects in BUILT.items()
    for each in objects
]
KINDS = {each["kind"]: each for objects in BUILT.values() for each in objects}


def faults(manifest, version):
    """What strict validation says against an object."""
    try:
        kubernetes_validate.validate(manifest, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return error.message
    return None


def pods(overlay):
    """The templates of the pods, by the name of their Deployment."""
    return {
        each["metadata"]["name"]: each["spec"]["template"]
        for each in BUILT[overlay]
        if each["kind"] == "Deployment"
    }


def of_kind(overlay, kind):
    return [each for each in BUILT[overlay] if each["kind"] == kind]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("manifest", OBJECTS)
def test_an_object_is_valid(manifest, version):
    assert faults(manifest, version) is None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_typo_is_found_wherever_it_is(kind, version):
    tried = 0
    for where, broken in with_typo(KINDS[kind]):
        assert faults(broken, version), where
        tried += 1
    assert tried


def test_all_kinds_are_there():
    assert set(KINDS) == {
        "ConfigMap",
        "Deployment",
        "HorizontalPodAutoscaler",
        "Namespace",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    }


def test_kustomize_refuses_a_typo(tmp_path):
    text = (ROOT / "base" / "kustomization.yaml").read_text()
    (tmp_path / "kustomization.yaml").write_text(text.replace("resources:", "resource:"))
    done = subprocess.run([KUSTOMIZE, "build", tmp_path], capture_output=True, text=True)
    assert done.returncode != 0
    assert 'unknown field "resource"' in done.stderr


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_have_what_the_restricted_profile_asks_for(overlay):
    (namespace,) = of_kind(overlay, "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for template in pods(overlay).values():
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        allowed = {"emptyDir", "secret", "configMap", "persistentVolumeClaim", "projected"}
        for volume in spec["volumes"]:
            assert set(volume) - {"name"} <= allowed
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
        assert spec["automountServiceAccountToken"] is False


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_pod_has_time_to_stop_and_probes_and_limits(overlay):
    for template in pods(overlay).values():
        spec = template["spec"]
        (container,) = spec["containers"]
        waits = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        # Besides the margin for a busy node, in which the process ends.
        needed = waits + GRACE_SECONDS + MAX_QUIET_SECONDS
        assert spec["terminationGracePeriodSeconds"] >= 2 * needed
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["grpc"] == {"port": 50051}
        assert set(container["resources"]["limits"]) == {"cpu", "memory"}
        # A variable of a service, such as CROUPIER_PORT, would look like an option.
        assert spec["enableServiceLinks"] is False
        assert re.search(r":[\w.]+$", container["image"]) and ":latest" not in container["image"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_selectors_find_pods_and_ports(overlay):
    labels = {name: template["metadata"]["labels"] for name, template in pods(overlay).items()}

    def found(selector):
        return {name for name, has in labels.items() if selector.items() <= has.items()}

    for deployment in of_kind(overlay, "Deployment"):
        selector = deployment["spec"]["selector"]["matchLabels"]
        assert found(selector) == {deployment["metadata"]["name"]}
        for spread in deployment["spec"]["template"]["spec"].get("topologySpreadConstraints", ()):
            assert found(spread["labelSelector"]["matchLabels"]) == {deployment["metadata"]["name"]}
    for service in of_kind(overlay, "Service"):
        names = found(service["spec"]["selector"])
        assert names
        for name, port in itertools.product(names, service["spec"]["ports"]):
            (container,) = pods(overlay)[name]["spec"]["containers"]
            assert port["targetPort"] in [each["name"] for each in container["ports"]]
    for budget in of_kind(overlay, "PodDisruptionBudget"):
        assert found(budget["spec"]["selector"]["matchLabels"]) == {budget["metadata"]["name"]}
    for scaler in of_kind(overlay, "HorizontalPodAutoscaler"):
        target = scaler["spec"]["scaleTargetRef"]["name"]
        (scaled,) = [
            each for each in of_kind(overlay, "Deployment") if each["metadata"]["name"] == target
        ]
        # Otherwise each `kubectl apply` would undo what the autoscaler has set.
        assert "replicas" not in scaled["spec"]


def reaching(overlay, component):
    """Which pods of the namespace the policies let reach the port for calls of a component."""
    callers = set()
    for policy in of_kind(overlay, "NetworkPolicy"):
        chosen = policy["spec"]["podSelector"].get("matchLabels", {})
        if chosen not in ({}, {"app.kubernetes.io/component": component}):
            continue
        for rule in policy["spec"].get("ingress", ()):
            if {"port": "grpc"} in rule["ports"]:
                peers = rule.get("from", [None])
                callers |= {
                    peer and peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
                    for peer in peers
                }
    return callers


def test_only_servers_reach_search_servers_and_only_monitoring_reads_metrics():
    assert reaching("replicas", "search") == {"server"}
    assert reaching("replicas", "server") == {None}  # Players, from anywhere.
    for policy in of_kind("replicas", "NetworkPolicy"):
        for rule in policy["spec"].get("ingress", ()):
            if {"port": "metrics"} in rule["ports"]:
                (peer,) = rule["from"]
                wanted = {"kubernetes.io/metadata.name": "monitoring"}
                assert peer == {"namespaceSelector": {"matchLabels": wanted}}
    (default,) = [
        each["spec"]
        for each in of_kind("replicas", "NetworkPolicy")
        if each["metadata"]["name"] == "croupier"
    ]
    assert default == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_variables_are_options_with_values_that_they_take(overlay):
    maps = {each["metadata"]["name"]: each["data"] for each in of_kind(overlay, "ConfigMap")}
    for template in pods(overlay).values():
        (container,) = template["spec"]["containers"]
        variables = {each["name"]: "2" for each in container.get("env", ())}
        for source in container["envFrom"]:
            variables |= maps[source["configMapRef"]["name"]]
        variables.pop("CROUPIER_CONFIG", None)
        check_variables(variables)
