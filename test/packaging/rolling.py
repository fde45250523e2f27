"""Restarts two routers behind HAProxy, one after the other, under load. Every request must succeed: rolling.py LAUNCHER ENGINE WORK"""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

launcher, engine, work = sys.argv[1:]
LIMIT_S = 60
CLIENTS = 16
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello"}]})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_true(what, condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {LIMIT_S} s")
        time.sleep(0.05)


def answers(port, path):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False


class Router:
    def __init__(self, port):
        self.port = port
        self.start()

    def start(self):
        command = [launcher, "serve", "--workers", engine, "--port", str(self.port), "--metrics-port", "0"]
        command += ["--drain-delay", "3s", "--drain-timeout", "20s"]
        log = open(f"{work}/router-{self.port}.log", "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        await_true(f"router {self.port}", lambda: answers(self.port, "/readiness"))

    def restart(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(LIMIT_S)
        if code != 0:
            sys.exit(f"router {self.port}: exit code {code} (expected: 0)")
        self.start()


class Client(threading.Thread):
    """Sends chats, most of them on a kept connection."""

    done = threading.Event()

    def __init__(self):
        super().__init__(daemon=True)
        self.good, self.bad = 0, []

    def run(self):
        connection = None
        while not Client.done.is_set():
            try:
                if connection is None or self.good % 50 == 0:
                    connection = http.client.HTTPConnection("127.0.0.1", front, timeout=LIMIT_S)
                connection.request("POST", "/v1/chat/completions", BODY, {"Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read()
                if response.status == 200 and b'"choices"' in text:
                    self.good += 1
                else:
                    self.bad.append(f"{response.status} {text[:200]}")
            except (OSError, http.client.HTTPException) as e:
                self.bad.append(repr(e))
                connection = None


routers = [Router(free_port()), Router(free_port())]
front = free_port()
stats = free_port()
servers = "\n".join(f"  server r{r.port} 127.0.0.1:{r.port} check inter 500ms fall 2 rise 1" for r in routers)
with open(f"{work}/haproxy.cfg", "w") as out:
    out.write(
        f"""defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend clients
  bind 127.0.0.1:{front}
  default_backend routers
backend routers
  option httpchk GET /readiness
{servers}
frontend stats
  bind 127.0.0.1:{stats}
  stats enable
  stats uri /
"""
    )
haproxy = subprocess.Popen(["haproxy", "-db", "-f", f"{work}/haproxy.cfg"], stderr=subprocess.DEVNULL)


def up():
    """Number of routers that HAProxy counts as up."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", stats, timeout=5)
        connection.request("GET", "/;csv")
        return len(re.findall(r"(?m)^routers,r\d+,.*,UP,", connection.getresponse().read().decode()))
    except OSError:
        return 0


clients = [Client() for _ in range(CLIENTS)]
try:
    await_true("HAProxy", lambda: up() == 2)
    for client in clients:
        client.start()
    for router in routers:
        before = sum(client.good for client in clients)
        await_true("load", lambda: sum(client.good for client in clients) > before + 200)
        router.restart()
        await_true("HAProxy", lambda: up() == 2)
    Client.done.set()
    for client in clients:
        client.join(LIMIT_S)
finally:
    haproxy.terminate()
    haproxy.wait()
    for router in routers:
        router.process.terminate()
        router.process.wait(LIMIT_S)
bad = [each for client in clients for each in client.bad]
print(f"routers: {sum(client.good for client in clients)} requests during two restarts, {len(bad)} failed")
if bad:
    sys.exit("\n".join(bad[:5]))
os._exit(0)
