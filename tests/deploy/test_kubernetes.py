"""What deploy/helm makes is valid, fits together, and gives no more rights than needed."""

import argparse
import http.server
import itertools
import json
import os
import re
import subprocess
import tarfile
import threading
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

if "TEST_DEPLOY" not in os.environ:
    pytest.skip(
        "`make check-deploy` installs what this needs, and runs it", allow_module_level=True
    )

import jsonschema
import kubernetes_validate
import yaml

from cli.configuration import ConfiguredParser
from cli.server_options import add_options
from service.admission.callers_file import (
    DEFAULT_ADDRESS,
    DEFAULT_KEY,
    DEFAULT_PERSON,
    read_callers_file,
)
from service.running.server import GRACE_SECONDS, MAX_QUIET_SECONDS
from tests.deploy.typos import with_typo
from tests.deploy.variables import check_variables

FOLDER = Path(__file__).parents[2]
HELM = FOLDER / "deploy" / "helm"
BIN = FOLDER / "build" / "deploy" / "bin"
SCHEMAS = FOLDER / "build" / "deploy" / "schemas"
CASES = ("default", "one-server", "ingress", "gateway")
VERSIONS = ("1.30", "1.34", "1.37")  # The first has `preStop.sleep`; the last is the newest known.


def helm(*arguments, case="default"):
    """What Helm says, and its errors."""
    if case != "default":
        arguments = (*arguments, "--values", HELM / "examples" / f"{case}.yaml")
    done = subprocess.run([BIN / "helm", *arguments], capture_output=True, text=True)
    return done.stdout, "" if done.returncode == 0 else done.stderr


def render(*arguments, case="default"):
    """What the chart makes of values, and why not."""
    options = ("--namespace", "croupier", "--kube-version", f"{VERSIONS[1]}.0")
    return helm("template", "croupier", HELM / "croupier", *options, *arguments, case=case)


def build(case):
    text, error = render(case=case)
    assert not error
    return list(yaml.safe_load_all(text))


BUILT = {case: build(case) for case in CASES}
OBJECTS = [
    pytest.param(each, id=f"{case}-{each['kind']}-{each['metadata']['name']}")
    for case, objects in BUILT.items()
    for each in objects
]
KINDS = {each["kind"]: each for objects in BUILT.values() for each in objects}


def strict(schema):
    """A schema that takes no field which it does not name."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    if "pattern" in schema:  # Go takes flags anywhere.
        schema["pattern"] = schema["pattern"].replace("^(?i)", "(?i)^")
    items = [schema["items"]] if "items" in schema else []
    for inner in (*schema.get("properties", {}).values(), *items):
        strict(inner)
    return schema


def read_custom(path):
    """The kind and the schemas that a definition has, by version."""
    spec = yaml.safe_load(path.read_text())["spec"]
    group, versions = spec["group"], {}
    for each in spec["versions"]:
        schema = strict(each["schema"]["openAPIV3Schema"])
        fields = {key: {} for key in ("name", "labels", "annotations")}
        schema["properties"]["metadata"] = strict({"type": "object", "properties": fields})
        versions[f"{group}/{each['name']}"] = schema
    return spec["names"]["kind"], versions


CUSTOM = dict(map(read_custom, sorted(SCHEMAS.glob("*.yaml"))))


def faults(manifest, version):
    """What strict validation says against an object."""
    try:
        if manifest["kind"] in CUSTOM:
            schema = CUSTOM[manifest["kind"]].get(manifest.get("apiVersion"), False)
            jsonschema.validate(manifest, schema)
        else:
            kubernetes_validate.validate(manifest, version, strict=True)
    except (kubernetes_validate.ValidationError, jsonschema.ValidationError) as error:
        return error.message
    return None


def pods(case):
    """The templates of the pods, by the name of their Deployment."""
    return {
        each["metadata"]["name"]: each["spec"]["template"]
        for each in BUILT[case]
        if each["kind"] == "Deployment"
    }


def of_kind(case, kind):
    return [each for each in BUILT[case] if each["kind"] == kind]


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
        "GRPCRoute",
        "HTTPRoute",
        "HorizontalPodAutoscaler",
        "Ingress",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "PrometheusRule",
        "Secret",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
    }


def test_the_chart_is_well_kept():
    said, error = helm("lint", HELM / "croupier", "--strict")
    assert not error, said


def test_the_archive_of_a_release_gives_a_registry_the_chart(tmp_path):
    command, folders = FOLDER / "scripts" / "build_chart.sh", (tmp_path / "a", tmp_path / "b")
    for folder in folders:
        folder.mkdir()
        subprocess.run([command, folder], check=True)
    for name in ("croupier-0.3.0.tgz", "croupier-chart-0.3.0.oci.tar"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    (archive,) = folders[0].glob("*.oci.tar")
    with tarfile.open(archive) as packed:
        packed.extractall(layout := tmp_path / "layout", filter="data")
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]

    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, name = self.path.split("/")[-2:]
            digest = entry["digest"] if kind == "manifests" and ":" not in name else name
            data = (layout / "blobs" / digest.replace(":", "/")).read_bytes()
            self.send_response(200)
            self.send_header("content-type", entry["mediaType"])
            self.send_header("content-length", str(len(data)))
            self.send_header("docker-content-digest", digest)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"oci://127.0.0.1:{server.server_port}/croupier"
        pulled = ("--plain-http", "--version", "0.3.0", "--destination", tmp_path)
        _, error = helm("pull", url, *pulled)
        server.shutdown()
    assert not error
    assert (tmp_path / "croupier-0.3.0.tgz").read_bytes() == (
        folders[0] / "croupier-0.3.0.tgz"
    ).read_bytes()
    config = json.loads((layout / "blobs" / manifest_of(layout, entry)).read_text())
    assert config == yaml.safe_load((HELM / "croupier" / "Chart.yaml").read_text())
    # The file of rules is a link to that of Prometheus.
    options = ("--kube-version", f"{VERSIONS[1]}.0", "--set", "monitoring.rules=true")
    text, error = helm("template", "croupier", tmp_path / "croupier-0.3.0.tgz", *options)
    assert not error and "CroupierDown" in text


def manifest_of(layout, entry):
    """The path of the configuration that a manifest names."""
    manifest = (layout / "blobs" / entry["digest"].replace(":", "/")).read_text()
    return json.loads(manifest)["config"]["digest"].replace(":", "/")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("server.replica=2", "'replica' not allowed"),
        ("search.replicas=two", "/search/replicas"),
        ("server.options.endIdle=10d", "endIdle"),
        ("store.databases[0]=postgres.example.org", "/store/databases/0"),
        ("store.kind=sqlite", "server.replicas: must be 1"),
        ("ingress.enabled=true", "callers.trusted_proxies: must name"),
        ("gateway.enabled=true", "callers.trusted_proxies: must name"),
        ("ingress.enabled=true,ingress.web.host=x,callers.trusted_proxies={::/0}", "tlsSecret"),
        ("ingress.enabled=true,callers.trusted_proxies={::/0}", "web.host or grpc.host"),
        (
            "ingress.enabled=true,ingress.web.host=x,ingress.grpc.host=x,ingress.tlsSecret=x,"
            "callers.trusted_proxies={::/0}",
            "they must differ",
        ),
        ("server.options.nosuch=3", "'nosuch' not allowed"),
        ("search.options.end-idle=foo", "/search/options/end-idle"),
        ("server.options.log-level=verbose", "/server/options/log-level"),
        ("server.options.max-default-actions=1001", "/server/options/max-default-actions"),
        ("server.options.tls-cert=x", "'tls-cert' not allowed"),
        ("server.options.store=memory", "'store' not allowed"),
        ("server.telemetry.PATH=x", "PATH"),
        ("callers.budgets.address.live=3", "'live' not allowed"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(values, said):
    text, error = render("--set", values)
    assert not text
    assert said in error


VALUES = yaml.safe_load((HELM / "croupier" / "values.yaml").read_text())


def paths(values, before=""):
    for name, value in values.items():
        yield before + name
        if isinstance(value, dict):
            yield from paths(value, f"{before}{name}.")


@pytest.mark.parametrize("path", [path for path in paths(VALUES) if "nginx" not in path])
def test_a_value_that_is_taken_away_is_missing_by_name(path):
    text, error = render("--set", f"{path}=null")
    assert text or re.search(rf"missing propert.*'{path.rpartition('.')[2]}'", error), error


def schema_of(name):
    """Whether the chart takes a value as one of its definitions."""
    schema = json.loads((HELM / "croupier" / "values.schema.json").read_text())
    own = {"definitions": schema["definitions"], **schema["definitions"][name]}
    return jsonschema.Draft7Validator(own)


def test_the_chart_takes_options_as_the_server_does():
    parser = ConfiguredParser()
    add_options(parser)
    samples = (0, 1, 61, 1001, 10**6, 2**65, "0", "1", "90d", "d", "5y", "never", "off", "x", "16M")
    samples += ("15M", "2G", "0G", "debug", "text", "search", "", True, False)
    known = schema_of("options").schema["properties"]
    options = {each.key: each.action for each in parser.options}
    for name, sample in itertools.product(known, samples):
        takes = jsonschema.Draft7Validator(known[name]).is_valid(sample)
        action = options[name]
        if takes and action.metavar != "ORIGIN" and not isinstance(sample, bool):
            read = (action.type or str)(str(sample))
            assert not action.choices or read in action.choices
        if not isinstance(sample, bool | str) and action.metavar in ("N", "SECONDS"):
            try:
                action.type(str(sample))
            except argparse.ArgumentTypeError:
                assert not takes, (name, sample)
            else:
                assert takes, (name, sample)


def test_the_chart_knows_all_names_of_the_callers_file():
    page = (FOLDER / "docs" / "operations.md").read_text()
    document = tomllib.loads(re.search(r"```toml\n(# callers.toml.*?)```", page, re.S)[1])
    takes = schema_of("callersFile").is_valid
    for defaults in (DEFAULT_PERSON, DEFAULT_ADDRESS, DEFAULT_KEY):
        document["budgets"]["address"] |= {budget.value: 1 for budget in defaults}
    assert takes(document)
    tried = 0
    for where, broken in with_typo(document):
        if where[0] == "keys" and len(where) == 2:
            continue  # The name of a key is free.
        assert not takes(broken), where
        tried += 1
    assert tried > 10


def test_a_large_number_in_a_file_of_values_stays_one(tmp_path):
    (tmp_path / "values.yaml").write_text("server: {options: {max-streams: 1000000}}")
    text, _ = render("--values", tmp_path / "values.yaml")
    assert 'CROUPIER_MAX_STREAMS: "1000000"' in text


@pytest.mark.parametrize("case", CASES)
def test_a_match_server_reads_its_secret(case):
    volumes = pods(case)["croupier-server"]["spec"]["volumes"]
    assert [each["secret"]["secretName"] for each in volumes if each["name"] == "secrets"] == [
        "croupier"
    ]
    (options,) = [
        each["data"] for each in of_kind(case, "ConfigMap") if "server" in each["metadata"]["name"]
    ]
    (container,) = pods(case)["croupier-server"]["spec"]["containers"]
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == "secrets"]
    assert options["CROUPIER_CONFIG"] == f"{mount['mountPath']}/croupier.toml"


def test_traces_reach_the_collector():
    (options,) = [
        each["data"]
        for each in of_kind("gateway", "ConfigMap")
        if "server" in str(each["metadata"])
    ]
    assert options["CROUPIER_TRACING"] == "true"
    place = urlsplit(options["OTEL_EXPORTER_OTLP_ENDPOINT"])
    values = yaml.safe_load((HELM / "examples" / "gateway.yaml").read_text())
    (collector,) = values["networkPolicies"]["collector"]
    assert collector == {"cidr": f"{place.hostname}/32", "port": place.port}
    # What `--tracing` needs is in the image.
    extras = re.search(r"croupier_server-\*\.whl\)\[(.*?)\]", (FOLDER / "Dockerfile").read_text())
    assert "otel" in extras[1].split(",")


def test_players_come_in_and_their_addresses_are_known(tmp_path):
    for case, kinds in (("ingress", {"Ingress"}), ("gateway", {"HTTPRoute", "GRPCRoute"})):
        entrances = [each for each in BUILT[case] if each["kind"] in kinds]
        names = {each["metadata"]["name"] for each in entrances}
        assert names == {"croupier-web", "croupier-grpc"}
        (service,) = [
            each
            for each in of_kind(case, "Service")
            if each["metadata"]["name"].endswith("entrance")
        ]
        ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
        for each in entrances:
            text = str(each["spec"])
            protocol = each["metadata"]["name"].removeprefix("croupier-")
            assert "croupier-entrance" in text
            assert f"'name': '{protocol}'" in text or f"'port': {ports[protocol]}" in text
        (secret,) = of_kind(case, "Secret")
        path = tmp_path / case
        path.write_text(secret["stringData"]["callers.toml"])
        assert read_callers_file(path).trusted_proxies


def test_rules_and_monitors_are_those_of_prometheus():
    for case in ("ingress", "gateway"):
        (rule,) = of_kind(case, "PrometheusRule")
        rules = yaml.safe_load((FOLDER / "deploy/prometheus/croupier.rules.yml").read_text())
        assert rule["spec"] == rules
        (monitor,) = of_kind(case, "ServiceMonitor")
        wanted = monitor["spec"]["selector"]["matchLabels"]
        (found,) = [
            each
            for each in of_kind(case, "Service")
            if wanted.items() <= each["metadata"]["labels"].items()
        ]
        # The alerts know the servers by this job.
        assert found["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "croupier"


@pytest.mark.parametrize("case", CASES)
def test_pods_have_what_the_restricted_profile_asks_for(case):
    for template in pods(case).values():
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


@pytest.mark.parametrize("case", CASES)
def test_a_pod_has_time_to_stop_and_probes_and_limits(case):
    for template in pods(case).values():
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


@pytest.mark.parametrize("case", CASES)
def test_selectors_find_pods_and_ports(case):
    labels = {name: template["metadata"]["labels"] for name, template in pods(case).items()}

    def found(selector):
        return {name for name, has in labels.items() if selector.items() <= has.items()}

    for deployment in of_kind(case, "Deployment"):
        selector = deployment["spec"]["selector"]["matchLabels"]
        assert found(selector) == {deployment["metadata"]["name"]}
        for spread in deployment["spec"]["template"]["spec"].get("topologySpreadConstraints", ()):
            assert found(spread["labelSelector"]["matchLabels"]) == {deployment["metadata"]["name"]}
    for service in of_kind(case, "Service"):
        names = found(service["spec"]["selector"])
        assert names
        for name, port in itertools.product(names, service["spec"]["ports"]):
            (container,) = pods(case)[name]["spec"]["containers"]
            assert port["targetPort"] in [each["name"] for each in container["ports"]]
    for budget in of_kind(case, "PodDisruptionBudget"):
        assert found(budget["spec"]["selector"]["matchLabels"]) == {budget["metadata"]["name"]}
    for scaler in of_kind(case, "HorizontalPodAutoscaler"):
        target = scaler["spec"]["scaleTargetRef"]["name"]
        (scaled,) = [
            each for each in of_kind(case, "Deployment") if each["metadata"]["name"] == target
        ]
        # Otherwise each `kubectl apply` would undo what the autoscaler has set.
        assert "replicas" not in scaled["spec"]


def peer_name(peer):
    (selector,) = peer.values()
    labels = selector["matchLabels"]
    return labels.get("app.kubernetes.io/component") or labels["kubernetes.io/metadata.name"]


def reaching(case, component):
    """Which pods of the namespace the policies let reach the port for calls of a component."""
    callers = set()
    for policy in of_kind(case, "NetworkPolicy"):
        chosen = policy["spec"]["podSelector"]["matchLabels"]
        if chosen.get("app.kubernetes.io/component", component) != component:
            continue
        for rule in policy["spec"].get("ingress", ()):
            if {"port": "grpc"} in rule["ports"]:
                peers = rule.get("from", [None])
                callers |= {peer and peer_name(peer) for peer in peers}
    return callers


def test_only_servers_reach_search_servers_and_only_monitoring_reads_metrics():
    assert reaching("default", "search") == {"server"}
    assert reaching("default", "server") == {None}  # Players, from anywhere.
    for policy in of_kind("default", "NetworkPolicy"):
        for rule in policy["spec"].get("ingress", ()):
            if {"port": "metrics"} in rule["ports"]:
                (peer,) = rule["from"]
                wanted = {"kubernetes.io/metadata.name": "monitoring"}
                assert peer == {"namespaceSelector": {"matchLabels": wanted}}
    assert reaching("ingress", "server") == {"ingress-nginx"}
    for case in CASES:
        (all_pods,) = [
            each["spec"]
            for each in of_kind(case, "NetworkPolicy")
            if each["metadata"]["name"] == "croupier"
        ]
        for template in pods(case).values():
            labels = template["metadata"]["labels"]
            assert all_pods["podSelector"]["matchLabels"].items() <= labels.items()
        assert all_pods["policyTypes"] == ["Ingress", "Egress"]
        assert "egress" not in all_pods


def test_servers_reach_what_the_values_name_and_nothing_else():
    for case, wanted in (
        ("default", {("10.0.0.0/8", 5432)}),
        ("one-server", set()),
        (
            "gateway",
            {
                ("192.0.2.20/32", 6432),
                ("192.0.2.21/32", 6432),
                ("192.0.2.30/32", 443),
                ("10.96.7.7/32", 4318),
            },
        ),
    ):
        found = {
            (peer["ipBlock"]["cidr"], port["port"])
            for policy in of_kind(case, "NetworkPolicy")
            for rule in policy["spec"].get("egress", ())
            for peer in rule["to"]
            for port in rule["ports"]
            if "ipBlock" in peer
        }
        assert found == wanted


@pytest.mark.parametrize(
    ("cpu", "server", "search"),
    [("2", "1", "2"), ("4", "3", "4"), ("1", "1", "1"), ("500m", "1", "1"), ("3500m", "2", "3")],
)
def test_a_match_server_leaves_a_processor_to_the_calls(cpu, server, search):
    both = ",".join(f"{each}.resources.limits.cpu={cpu}" for each in ("server", "search"))
    text, error = render("--set", both)
    assert not error
    found = {
        each["metadata"]["name"]: each["data"]["CROUPIER_SEARCH_THREADS"]
        for each in yaml.safe_load_all(text)
        if each["kind"] == "ConfigMap"
    }
    assert found == {"croupier-server": server, "croupier-search": search}


@pytest.mark.parametrize("case", CASES)
def test_variables_are_options_with_values_that_they_take(case):
    maps = {each["metadata"]["name"]: each["data"] for each in of_kind(case, "ConfigMap")}
    for template in pods(case).values():
        (container,) = template["spec"]["containers"]
        variables = {each["name"]: "2" for each in container.get("env", ())}
        for source in container["envFrom"]:
            variables |= maps[source["configMapRef"]["name"]]
        for file in ("CROUPIER_CONFIG", "CROUPIER_CALLERS_FILE"):
            variables.pop(file, None)
        check_variables(variables)
