"""Rendered manifests of the chart.

manifests.py config FILE                          prints the router's configuration
manifests.py probes FILE                          prints the kind, scheme, port and path of each probe of the router
manifests.py apply API-DIRECTORY ENGINE FILE...   creates them in an API server, with strict validation, after the
                                                  resources of operators that they use; makes a pod of the engine, checks
                                                  the rights of the chart's account, and writes its kubeconfig
"""
import copy
import json
import pathlib
import subprocess
import sys
import time

import yaml

NAMESPACE = "inference"
PATHS = {
    "Deployment": "apis/apps/v1/namespaces/{}/deployments",
    "ConfigMap": "api/v1/namespaces/{}/configmaps",
    "Service": "api/v1/namespaces/{}/services",
    "ServiceAccount": "api/v1/namespaces/{}/serviceaccounts",
    "Role": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "ClusterRole": "apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "PodDisruptionBudget": "apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "HorizontalPodAutoscaler": "apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "NetworkPolicy": "apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    # Of operators: a plain API server knows them by crds.yaml.
    "ServiceMonitor": "apis/monitoring.coreos.com/v1/namespaces/{}/servicemonitors",
    "ScaledObject": "apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects",
}
OF_OPERATORS = {"ServiceMonitor", "ScaledObject"}
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LIMIT_S = 60


def documents(file):
    return [each for each in yaml.safe_load_all(open(file)) if each]


def config(file):
    maps = [each for each in documents(file) if each["kind"] == "ConfigMap"]
    return maps[0]["data"]["pointsman.yaml"]


def probes(file):
    deployments = [each for each in documents(file) if each["kind"] == "Deployment"]
    router = deployments[0]["spec"]["template"]["spec"]["containers"][0]
    lines = []
    for kind in ("startup", "liveness", "readiness"):
        get = router[kind + "Probe"]["httpGet"]
        lines.append(f"{kind} {get.get('scheme', 'HTTP')} {get['port']} {get['path']}")
    return "\n".join(lines)


class Api:
    def __init__(self, directory):
        self.url = open(directory + "/url").read().strip()
        self.ca = directory + "/pki/ca.crt"
        self.admin = ["--cert", directory + "/pki/admin.crt", "--key", directory + "/pki/admin.key"]

    def call(self, method, path, body=None, as_user=None, content="application/json"):
        command = ["curl", "-sS", "-X", method, "-w", "\n%{http_code}", "--cacert", self.ca]
        command += ["-H", "Authorization: Bearer " + as_user] if as_user else self.admin
        if body is not None:
            command += ["-H", "Content-Type: " + content, "-d", json.dumps(body)]
        out = subprocess.run([*command, f"{self.url}/{path}"], capture_output=True, text=True, check=True).stdout
        text, code = out.rsplit("\n", 1)
        return int(code), text

    def create(self, path, body, *ok):
        code, text = self.call("POST", path, body)
        if code not in (201, *ok):
            sys.exit(f"{path}: {code} {text}")
        return text


def apply(directory, engine, files):
    api = Api(directory)
    api.create("api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    define(api)
    applied = set()
    for file in files:
        for each in documents(file):
            path = PATHS[each["kind"]].format(each["metadata"].get("namespace", NAMESPACE)) + "?fieldValidation=Strict"
            api.create(path, each)
            if each["kind"] in OF_OPERATORS and each["kind"] not in applied:
                refuses(api, path, each)
                applied.add(each["kind"])
    if applied != OF_OPERATORS:
        sys.exit(f"applied: {sorted(applied)} (expected: {sorted(OF_OPERATORS)})")
    print(f"chart: {len(files)} files applied, with {' and '.join(sorted(applied))}")
    port = int(engine.rsplit(":", 1)[1])
    pods = f"api/v1/namespaces/{NAMESPACE}/pods"
    container = {"name": "engine", "image": "x", "ports": [{"containerPort": port}]}
    api.create(pods, {"metadata": {"name": "engine", "labels": {"app": "vllm"}}, "spec": {"containers": [container]}})
    ready = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    ready["conditions"] = [{"type": "Ready", "status": "True"}]
    code, text = api.call("PATCH", pods + "/engine/status", {"status": ready}, content="application/strategic-merge-patch+json")
    if code != 200:
        sys.exit(f"pod: {code} {text}")
    account = next(each["metadata"]["name"] for each in documents(files[0]) if each["kind"] == "ServiceAccount")
    path = f"api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    token = json.loads(api.create(path, {"spec": {}}))["status"]["token"]
    rights(api, token)
    user = {"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}
    user["clusters"] = [{"name": "k", "cluster": {"server": api.url, "certificate-authority": api.ca}}]
    user["users"] = [{"name": "u", "user": {"token": token}}]
    with open(directory + "/account.kubeconfig", "w") as out:
        yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **user}, out)


def define(api):
    """Creates the definitions of operators' resources, and waits until the API serves them."""
    for each in documents(pathlib.Path(__file__).with_name("crds.yaml")):
        api.create(DEFINITIONS + "?fieldValidation=Strict", each)
        name = each["metadata"]["name"]
        end = time.monotonic() + LIMIT_S
        while True:
            status = json.loads(api.call("GET", f"{DEFINITIONS}/{name}")[1]).get("status", {})
            if any(c["type"] == "Established" and c["status"] == "True" for c in status.get("conditions", [])):
                break
            if time.monotonic() > end:
                sys.exit(f"{name}: not established within {LIMIT_S} s: {status}")
            time.sleep(0.1)


def refuses(api, path, good):
    """A slip in a field must be refused; otherwise the definitions check nothing."""
    slip = copy.deepcopy(good)
    slip["metadata"]["name"] += "-slip"
    slip["spec"]["slip"] = 1
    code, text = api.call("POST", path, slip)
    if code != 400 or "spec.slip" not in text:
        sys.exit(f"{path}: {code} for an unknown field (expected: 400) {text[:200]}")


def rights(api, token):
    """The account may read the pods of its namespace, and nothing else."""
    expected = {
        ("GET", f"api/v1/namespaces/{NAMESPACE}/pods"): 200,
        ("GET", f"api/v1/namespaces/{NAMESPACE}/pods/engine"): 200,
        ("DELETE", f"api/v1/namespaces/{NAMESPACE}/pods/engine"): 403,
        ("GET", "api/v1/namespaces/default/pods"): 403,
        ("GET", "api/v1/pods"): 403,
        ("GET", f"api/v1/namespaces/{NAMESPACE}/secrets"): 403,
        ("GET", f"api/v1/namespaces/{NAMESPACE}/configmaps"): 403,
        ("GET", f"api/v1/namespaces/{NAMESPACE}/services"): 403,
        ("GET", "api/v1/nodes"): 403,
    }
    for (method, path), code in expected.items():
        got, text = api.call(method, path, as_user=token)
        if got != code:
            sys.exit(f"{method} {path}: {got} (expected: {code}) {text[:200]}")


if sys.argv[1] == "config":
    print(config(sys.argv[2]), end="")
elif sys.argv[1] == "probes":
    print(probes(sys.argv[2]))
else:
    apply(sys.argv[2], sys.argv[3], sys.argv[4:])
