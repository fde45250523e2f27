#!/usr/bin/env python3
"""Discovery and models without workers, on a real Kubernetes API.

    real_api.py KUBE_API

KUBE_API is a folder with the programs `install`, `start DIR` and `stop DIR [PART]` for kube-apiserver and etcd on loopback.
Routers and simulated engines are real processes; this program plays the controllers and the kubelet. Each router has an account
with the rights of the chart's role and no others. Takes 2 to 8 minutes if the API server is installed. Prints a line for each
check and exits with 1 if one does not hold.
"""
import contextlib
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
NAMESPACE = "inference"
BOUND = 60  # seconds until something that must happen counts as missing
STRATEGIC = "application/strategic-merge-patch+json"
failed = []


def check(holds, what, seen=""):
    print(f"{'ok' if holds else 'FAILS':6} {what}{'' if holds else f': {seen}'}", flush=True)
    if not holds:
        failed.append(what)


def until(wanted, limit=BOUND):
    """Calls `wanted` until its result is true, and returns the last result."""
    end = time.time() + limit
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            result = wanted()
            if result or time.time() > end:
                return result
        if time.time() > end:
            return None
        time.sleep(0.1)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.text = response.status, dict((k.lower(), v) for k, v in response.getheaders()), response.read().decode()


def call(base, method, path, body=None, headers=None, context=None):
    url = urlsplit(base)
    secure = url.scheme == "https"
    connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=2 * BOUND, context=context) if secure else \
        http.client.HTTPConnection(url.hostname, url.port, timeout=2 * BOUND)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"content-type": "application/json", "connection": "close", **(headers or {})})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def chat(router, model, stream=False):
    body = {"model": model, "stream": stream, "max_tokens": 4, "messages": [{"role": "user", "content": "Hello"}]}
    return call(router, "POST", "/v1/chat/completions", body)


class Api:
    def __init__(self, tools, directory):
        self.tools, self.directory = tools, directory
        self.env = {**os.environ, "KUBE_API_PARTS": "etcd kube-apiserver"}
        self.run("install")
        self.run("start", directory)
        self.url = open(directory + "/url").read().strip()
        self.ca = directory + "/pki/ca.crt"
        self.admin = ssl.create_default_context(cafile=self.ca)
        self.admin.load_cert_chain(directory + "/pki/admin.crt", directory + "/pki/admin.key")

    def run(self, program, *arguments):
        subprocess.run([os.path.join(self.tools, program), *arguments], check=True, env=self.env, stdout=subprocess.DEVNULL)

    def call(self, method, path, body=None, content="application/json"):
        answer = call(self.url, method, path, body, {"content-type": content}, self.admin)
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.text[:300]}")
        return json.loads(answer.text)

    def create(self, group, kind, value):
        return self.call("POST", f"/{group}/namespaces/{NAMESPACE}/{kind}?fieldValidation=Strict", value)

    def account(self, name, rules):
        """Makes an account with a role of these rules, and returns its kubeconfig."""
        rbac = "apis/rbac.authorization.k8s.io/v1"
        self.create("api/v1", "serviceaccounts", {"metadata": {"name": name}})
        self.create(rbac, "roles", {"metadata": {"name": name}, "rules": rules})
        self.create(rbac, "rolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]})
        token = self.create("api/v1", f"serviceaccounts/{name}/token", {"spec": {}})["status"]["token"]
        file = os.path.join(self.directory, name + ".kubeconfig")
        with open(file, "w") as out:
            json.dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {"server": self.url, "certificate-authority": self.ca}}],
                "users": [{"name": "u", "user": {"token": token}}]}, out)
        return file

    def pod(self, name, address, labels, annotations=None):
        self.create("api/v1", "pods", {
            "metadata": {"name": name, "labels": labels, "annotations": annotations or {}}, "spec": {"containers": [{"name": "engine", "image": "x"}]}})
        self.ready(name, address)

    def ready(self, name, address, ready=True):
        self.call("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/status", {"status": {
            "phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}}, STRATEGIC)

    def delete(self, name):
        self.call("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")

    def slice(self, name, address, port, labels):
        self.create("apis/discovery.k8s.io/v1", "endpointslices", {
            "metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]})


def chart_rules(find, expect_models):
    """The rules of the chart's role for these values."""
    text = open(os.path.join(ROOT, "deploy/helm/pointsman/templates/rbac.yaml")).read()
    text = re.search(r"^rules:\n(.*?)^---", text, re.S | re.M).group(1)
    optional = re.compile(r"^ *\{\{- if \.Values\.discovery\.expectModels \}\}\n(.*?)^ *\{\{- end \}\}\n", re.S | re.M)
    text = optional.sub(r"\1" if expect_models else "", text)
    group = '"discovery.k8s.io"' if find == "endpointslices" else '""'
    text = re.sub(r"\{\{ ternary [^}]* \}\}", group, text).replace("{{ .Values.discovery.find }}", find)
    if "{{" in text:
        raise AssertionError(f"not understood in the chart's role: {text}")
    rules = []
    for line in text.splitlines():
        key, _, value = line.strip().lstrip("- ").partition(": ")
        if line.strip().startswith("- "):
            rules.append({})
        rules[-1][key] = [each.strip().strip('"') for each in value.strip("[]").split(",")]
    return rules


class Process:
    def __init__(self, directory, name, arguments, env=None):
        self.file = os.path.join(directory, name + ".log")
        with open(self.file, "w") as out:
            self.process = subprocess.Popen([os.path.join(ROOT, "pointsman"), *arguments], stdout=out, stderr=subprocess.STDOUT,
                                            env={**os.environ, **(env or {})})

    def log(self):
        return open(self.file).read()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Router(Process):
    def __init__(self, directory, name, kubeconfig, *arguments):
        super().__init__(directory, name, ["serve", "--port", "0", "--metrics-port", "0", "--admin-enabled=false",
                                           "--health-interval", "1s", *arguments], {"KUBECONFIG": kubeconfig})
        ports = until(lambda: self.process.poll() is not None or len(re.findall(r"http://127\.0\.0\.1:(\d+)", self.log())) > 1)
        found = dict(re.findall(r"(metrics|listens)[^\n]*?(http://127\.0\.0\.1:\d+)", self.log()))
        if not ports or self.process.poll() is not None or "listens" not in found:
            raise AssertionError(f"{name}: does not listen: {self.log()}")
        self.url = found["listens"]
        self.metrics_url = found.get("metrics") or re.findall(r"http://127\.0\.0\.1:\d+", self.log())[1]

    def metric(self, name, model):
        text = call(self.metrics_url, "GET", "/metrics").text
        return sum(float(value) for labels, value in re.findall(rf"^{name}\{{([^}}]*)\}} (\S+)$", text, re.M) if f'model="{model}"' in labels)


class Later:
    """A request that is sent on a thread of its own."""

    def __init__(self, *arguments):
        self.answer = None
        self.thread = threading.Thread(target=self.ask, args=arguments, daemon=True)
        self.thread.start()

    def ask(self, *arguments):
        self.answer = chat(*arguments)

    def held(self, router, model):
        """Waits until the request is answered, or counted as one that waits."""
        return until(lambda: self.answer or router.metric("pointsman_requests_awaiting_worker", model) == 1) and not self.answer

    def get(self):
        self.thread.join(BOUND)
        return self.answer


def answered(answer, stream=False):
    return answer is not None and answer.status == 200 and ("[DONE]" in answer.text if stream else '"choices"' in answer.text)


def said(answer):
    return "no answer" if answer is None else f"{answer.status} {answer.text[:200]}"


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def own_address():
    """An address of this host that is not on loopback: EndpointSlices refuse those."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


def workload(kind, name, model):
    labels = {"app": "vllm", "workload": name}
    spec = {"replicas": 0, "selector": {"matchLabels": {"workload": name}}, "template": {
        "metadata": {"labels": labels}, "spec": {"containers": [{"name": "engine", "image": "x"}]}}}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    return {"metadata": {"name": name, "labels": labels, "annotations": {"pointsman.io/model": model}}, "spec": spec}


def run(api, directory, started):
    def start(process):
        started.append(process)
        return process

    def engine(model, at, host="127.0.0.1"):
        one = start(Process(directory, "engine-" + model, ["engine", "--host", host, "--port", str(at), "--model", model]))
        until(lambda: call(f"http://127.0.0.1:{at}", "GET", "/health").status == 200)
        return one

    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for kind, name, model in (("Deployment", "a", "model-a"), ("StatefulSet", "b", "model-b"), ("Deployment", "c", "model-c")):
        api.create("apis/apps/v1", kind.lower() + "s", workload(kind, name, model))
    at, sliced = port(), port()
    common = ("--kubernetes-namespace", NAMESPACE, "--kubernetes-port", str(at), "--kubernetes-selector", "app=vllm")
    full = api.account("full", chart_rules("pods", True))
    plain = api.account("plain", chart_rules("pods", False))
    slices = api.account("slices", chart_rules("endpointslices", True))
    expecting = ("--kubernetes-expect-models", "true")
    holding = ("--defer-without-worker", "100s", *expecting)

    refusing = start(Router(directory, "refusing", full, *common, *expecting))
    for model in ("model-a", "model-b"):
        until(lambda: chat(refusing.url, model).status == 503)
        answer = chat(refusing.url, model)
        check(answer.status == 503 and int(answer.headers.get("retry-after", 0)) > 0,
              f"{model} at zero replicas: 503 with Retry-After", f"{said(answer)} {answer.headers}")
        # Requests that come before the workload is read count as other.
        check(until(lambda: chat(refusing.url, model) and refusing.metric("pointsman_requests_without_worker_total", model) > 0),
              f"{model}: the demand is counted under its name", call(refusing.metrics_url, "GET", "/metrics").text[-500:])
    answer = chat(refusing.url, "nobody")
    check(answer.status in (404, 503) and refusing.metric("pointsman_requests_without_worker_total", "nobody") == 0,
          "a model that nobody names is not counted under its name", said(answer))

    router = start(Router(directory, "holding", full, *common, *holding))
    until(lambda: "model-b" in router.log() or time.sleep(1) is None, 3)
    held = {(model, stream): Later(router.url, model, stream) for model in ("model-a", "model-b") for stream in (False, True)}
    for model in ("model-a", "model-b"):
        check(until(lambda: router.metric("pointsman_requests_awaiting_worker", model) == 2), f"{model}: two requests are held and counted as waiting",
              router.metric("pointsman_requests_awaiting_worker", model))
    first = engine("model-a", at)
    api.pod("a-0", "127.0.0.1", {"app": "vllm", "workload": "a"})
    for stream in (False, True):
        answer = held["model-a", stream].get()
        check(answered(answer, stream), f"a pod becomes ready: the held {'stream' if stream else 'answer'} of model-a comes", said(answer))
    check(router.metric("pointsman_requests_awaiting_worker", "model-b") == 2, "model-b is still held")
    check(answered(chat(refusing.url, "model-a")) or answered(until(lambda: (a := chat(refusing.url, "model-a")).status == 200 and a)),
          "the router that refused serves model-a too")
    api.delete("a-0")
    check(until(lambda: chat(refusing.url, "model-a").status == 503), "the pod is deleted: 503 again")
    first.stop()
    engine("model-b", at)
    api.pod("b-0", "127.0.0.1", {"app": "vllm", "workload": "b"}, {"pointsman.io/model": "model-b"})
    for stream in (False, True):
        answer = held["model-b", stream].get()
        check(answered(answer, stream), f"a pod of the StatefulSet becomes ready: the held {'stream' if stream else 'answer'} comes", said(answer))
    api.ready("b-0", "127.0.0.1", False)
    check(until(lambda: chat(refusing.url, "model-b").status == 503), "a pod that is not ready gets nothing")
    api.ready("b-0", "127.0.0.1")
    check(until(lambda: answered(chat(refusing.url, "model-b"))), "ready again: it serves")

    poor = start(Router(directory, "poor", plain, *common, *expecting))
    check(until(lambda: answered(chat(poor.url, "model-b"))), "an account that may not read Deployments finds pods", poor.log()[-500:])
    check(until(lambda: re.search("(?i)(deployments|statefulsets).*(403|forbidden)|(403|forbidden).*(deployments|statefulsets)", poor.log())),
          "and the log names the missing right", poor.log()[-800:])

    by_slice = start(Router(directory, "slices", slices, *common, *holding, "--kubernetes-find", "endpointslices"))
    waiting = [Later(by_slice.url, "model-c", stream) for stream in (False, True)]
    check(until(lambda: by_slice.metric("pointsman_requests_awaiting_worker", "model-c") == 2), "model-c: two requests are held (EndpointSlices)")
    # The controller's first slice of a Service has no endpoints.
    api.create("apis/discovery.k8s.io/v1", "endpointslices", {
        "metadata": {"name": "empty", "labels": {"app": "vllm"}}, "addressType": "IPv4", "endpoints": [], "ports": []})
    engine("model-c", sliced, "0.0.0.0")
    api.slice("c", own_address(), sliced, {"app": "vllm", "kubernetes.io/service-name": "c"})
    for stream, later in zip((False, True), waiting):
        answer = later.get()
        check(answered(answer, stream), f"an EndpointSlice appears: the held {'stream' if stream else 'answer'} comes", said(answer) + by_slice.log()[-500:])
    api.call("DELETE", f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/c")
    # Until the router has seen the change, the engine answers.
    later = until(lambda: (one := Later(by_slice.url, "model-c")).held(by_slice, "model-c") and one)
    check(later, "the slice is deleted: requests are held again")
    api.slice("c2", own_address(), sliced, {"app": "vllm"})
    check(later and answered(later.get()), "a new slice: they are served")

    api.run("stop", directory, "kube-apiserver")
    check(answered(chat(router.url, "model-b")), "the API is away: known workers serve")
    api.run("start", directory)
    api.delete("b-0")
    check(until(lambda: chat(refusing.url, "model-b").status == 503), "the API is back: a deleted pod leaves")
    api.call("DELETE", f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/b")
    check(until(lambda: chat(refusing.url, "model-b").text == chat(refusing.url, "nobody").text.replace("nobody", "model-b")),
          "the StatefulSet is deleted: its model is unknown", said(chat(refusing.url, "model-b")))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    subprocess.run([os.path.join(ROOT, "pointsman"), "version"], check=True, stdout=subprocess.DEVNULL)
    started = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            api = Api(sys.argv[1], directory)
            try:
                run(api, directory, started)
            finally:
                for each in started:
                    if each.process.poll() is None:
                        each.stop()
        finally:
            subprocess.run([os.path.join(sys.argv[1], "stop"), directory], stdout=subprocess.DEVNULL)
    print(f"{len(failed)} do not hold" if failed else "all hold")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
