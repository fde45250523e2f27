"""Fires each alert rule once by a fault, in a real Prometheus: alerts.py LAUNCHER WORK

Starts simulated engines, routers and Prometheus with a copy of the rules with short times. The first router serves a
healthy fleet under load; no alert may fire for it at any time. The others get faults: engines that end, hang, fail and are
slow, few places for clients, little memory for bodies, an index of KV events that is too small. A policy that throws and
predictions that fail cannot be caused from outside; a page of metrics stands in for such a router.
"""
import http.client
import http.server
import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import yaml

from ports import free_port

launcher, work = sys.argv[1:3]
RULES = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "prometheus", "pointsman-alerts.yaml")
LIMIT_S = 240
HEALTHY_S = 15  # the healthy fleet is watched for this time before the first fault
HEALTHY = "healthy"
processes = []
done = threading.Event()


def await_true(what, condition, limit=LIMIT_S):
    end = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {limit} s")
        time.sleep(0.1)
    return found


def ask(url, body=None, timeout=60, path=None):
    """Status and body of an answer; status 0 if there is none."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    try:
        connection.request("GET" if body is None else "POST", path or parts.path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as failure:
        return 0, repr(failure).encode()
    finally:
        connection.close()


def chat(text="Hello", **more):
    return json.dumps({"model": "sim", "messages": [{"role": "user", "content": text}], "max_tokens": 8, **more})


def start(name, command, **options):
    log = open(f"{work}/alerts-{name}.log", "wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, **options)
    processes.append(process)
    return process


class Engine:
    def __init__(self, name, *flags, step_ms=5):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [launcher, "engine", "--port", str(port), "--prefill-tokens-per-s", "0", "--decode-ms", str(step_ms), *flags]
        self.process = start("engine-" + name, command)

    def ready(self):
        await_true(self.url, lambda: ask(self.url + "/health")[0] == 200)

    def fails(self, **failure):
        status, text = ask(self.url + "/sim/failures", json.dumps({"path": "/v1/", **failure}))
        if status not in (200, 201):
            raise AssertionError(f"/sim/failures: {status} {text}")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Router:
    def __init__(self, name, engines, settings, descriptors=None):
        self.name, self.port, self.metrics = name, free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = {
            "listen": {"port": self.port},
            "metrics": {"port": self.metrics},
            "admin": {"port": 0},
            "workers": engines,
            "log": {"level": "error"},
            **settings,
        }
        file = f"{work}/alerts-{name}.yaml"
        with open(file, "w") as out:
            yaml.safe_dump(config, out)
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
        self.process = start("router-" + name, [launcher, "serve", "--config", file], preexec_fn=limit)

    def ready(self):
        await_true(self.name, lambda: self.process.poll() is not None or ask(self.url + "/readyz")[0] == 200)
        if self.process.poll() is not None:
            raise AssertionError(open(f"{work}/alerts-router-{self.name}.log").read())

    def chats(self, count, pause=0.05, make=lambda i: chat(f"Hello {i}")):
        """Sends requests by so many threads until the end; each waits a little between its requests."""

        def run():
            i = 0
            while not done.wait(pause):
                ask(self.url + "/v1/chat/completions", make(i))
                i += 1

        for _ in range(count):
            threading.Thread(target=run, daemon=True).start()


class StandIn(http.server.BaseHTTPRequestHandler):
    """Metrics of a router with defects that cannot be caused from outside."""

    failures = 0

    def do_GET(self):
        StandIn.failures += faults.is_set()
        page = f"pointsman_policy_failures_total {StandIn.failures}\npointsman_cost_fallback {int(faults.is_set())}\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_):
        pass


def short_rules():
    """A copy of the rules with times of seconds; returns its path and the names of the alerts."""
    text = open(RULES).read()
    text = re.sub(r"(?m)^(\s+for:) \S+", r"\1 2s", text)
    text = re.sub(r"\[\d+[mh]\]", "[10s]", text)
    path = f"{work}/alerts-rules.yaml"
    with open(path, "w") as out:
        out.write(text)
    return path, {rule["alert"] for group in yaml.safe_load(text)["groups"] for rule in group["rules"]}


def prometheus(rules, targets):
    jobs = [{"targets": [f"127.0.0.1:{port}"], "labels": {"instance": name}} for name, port in targets.items()]
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [rules],
        "scrape_configs": [{"job_name": "pointsman", "static_configs": jobs}],
    }
    with open(f"{work}/alerts-prometheus.yaml", "w") as out:
        yaml.safe_dump(config, out)
    port = free_port()
    start(
        "prometheus",
        [
            "prometheus",
            f"--config.file={work}/alerts-prometheus.yaml",
            f"--storage.tsdb.path={work}/alerts-data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
    )
    url = f"http://127.0.0.1:{port}"
    await_true("Prometheus", lambda: ask(url + "/-/ready")[0] == 200)
    return url


def firing(url):
    """Name and instance of each alert that fires now."""
    status, text = ask(url + "/api/v1/alerts")
    if status != 200:
        return set()
    alerts = json.loads(text)["data"]["alerts"]
    return {(a["labels"]["alertname"], a["labels"].get("instance")) for a in alerts if a["state"] == "firing"}


def healthy_targets(url):
    status, text = ask(url + "/api/v1/targets")
    if status != 200:
        return 0
    return sum(target["health"] == "up" for target in json.loads(text)["data"]["activeTargets"])


def hold(router, enough):
    """Opens connections until `enough` is true, and keeps them open."""
    held = []
    while not enough(len(held)) and len(held) < 1000:
        connection = socket.create_connection(("127.0.0.1", router.port), timeout=5)
        held.append(connection)
    return held


def metric(router, name):
    status, page = ask(f"http://127.0.0.1:{router.metrics}/metrics")
    found = re.search(rf"(?m)^{name} (\S+)$", page.decode()) if status == 200 else None
    return float(found.group(1)) if found else 0


def few_left(router):
    return metric(router, "process_open_fds") > 0.85 * metric(router, "process_max_fds")


faults = threading.Event()


def run():
    good = [Engine("good-1"), Engine("good-2")]
    # A token of the slow engine takes 100 ms: long answers last longer than the limit of its router.
    slow, broken, hung, leaving = Engine("slow", step_ms=100), Engine("broken"), Engine("hung"), Engine("leaving")
    events = Engine("events", "--kv-events", "vllm", "--kv-blocks", "100000", "--block-size", "1")
    for engine in [*good, slow, broken, hung, leaving, events]:
        engine.ready()
    fast = {"interval": "500ms", "timeout": "2s"}
    healthy = Router(HEALTHY, [e.url for e in good], {})
    workers = Router(
        "workers",
        [broken.url, hung.url, leaving.url],
        {
            "policy": "round_robin",
            "health": fast,
            "stall": {"patience": "1s", "max-patience": "2s"},
            "breaker": {"open-for": "10m", "max-ejected-share": 1},
            "timeouts": {"first-byte": "5s"},
        },
    )
    limits = Router(
        "limits",
        [slow.url],
        {
            "limits": {
                "max-connections": 200,
                "max-connections-per-address": 200,
                "evict-idle": "off",
                "max-concurrent-requests": 6,
                "queue-size": 100,
                "max-buffered-body": "1MiB",
                "max-buffered-total": "1MiB",
            },
            "timeouts": {"stream-total": "14s"},
            "stall": {"enabled": False},
        },
    )
    descriptors = Router(
        "descriptors", [good[0].url], {"limits": {"max-connections": 10000, "evict-idle": "off"}}, descriptors=400
    )
    leaver = Router(
        "leaver",
        [events.url],
        {
            "policy": "kv_aware",
            "health": fast,
            "kv-events": {"mode": "auto"},
            "kv-aware": {"index-max-bytes": "1MiB"},
        },
    )
    gone = Router("gone", [good[0].url], {})
    routers = [healthy, workers, limits, descriptors, leaver, gone]
    for router in routers:
        router.ready()
    stand_in = http.server.ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=stand_in.serve_forever, daemon=True).start()
    rules, names = short_rules()
    targets = {router.name: router.metrics for router in routers}
    url = prometheus(rules, {**targets, "stand-in": stand_in.server_port})
    await_true("all targets", lambda: healthy_targets(url) == len(routers) + 1)

    healthy.chats(4)
    seen = set()

    def watch():
        while not done.wait(0.5):
            seen.update(firing(url))

    threading.Thread(target=watch, daemon=True).start()
    end = time.monotonic() + HEALTHY_S
    await_true("the time of the healthy fleet", lambda: seen or time.monotonic() > end)
    if seen:
        raise AssertionError(f"alerts before the first fault: {sorted(seen)}")
    print(f"alerts: none of {len(names)} fires for {len(routers)} healthy routers in {HEALTHY_S} s", flush=True)

    faults.set()
    broken.fails(kind="status", status=500)
    hung.fails(kind="hang")
    workers.chats(6, make=lambda i: chat(f"Hello {i}", stream=True))
    slow.fails(kind="slow_first_token", ms=11000)
    limits.chats(12, make=lambda i: chat(f"Hello {i}", stream=True, max_tokens=1 if i % 2 else 200))
    limits.chats(2, make=lambda i: chat("x" * 900_000))
    gone.chats(1, make=lambda i: chat(model="unknown"))
    leaver.chats(4, make=lambda i: chat(f"{os.urandom(3000).hex()} {i}"))
    held = [hold(limits, lambda count: count >= 185), hold(descriptors, lambda count: few_left(descriptors))]
    of_ends = {"PointsmanDown", "PointsmanNoWorker", "PointsmanWorkerDown", "PointsmanKvEventsLost"}

    def fired():
        return {name for name, _ in list(seen)}

    def missing(of):
        return of - fired()

    try:
        await_true("alerts", lambda: not missing(names - of_ends))
        leaving.kill()
        events.kill()
        gone.process.kill()
        await_true("alerts", lambda: not missing(names))
    except AssertionError:
        raise AssertionError(f"do not fire: {sorted(missing(names))}; fired: {sorted(seen, key=str)}") from None
    finally:
        for each in held:
            for connection in each:
                connection.close()
    wrong = sorted(name for name, instance in list(seen) if instance == HEALTHY)
    if wrong:
        raise AssertionError(f"alerts of the healthy fleet: {wrong}")
    print(f"alerts: each of {len(names)} fired by its fault; none for the healthy fleet under load")


code = 1
try:
    run()
    code = 0
except AssertionError as failure:
    print(f"alerts: {failure}", file=sys.stderr)
finally:
    done.set()
    for process in processes:
        process.kill()
        process.wait()
sys.stdout.flush()
os._exit(code)
