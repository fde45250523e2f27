"""Restarts two routers behind HAProxy, one after the other, under load of short chats and of streams of 5 s.

Every chat must succeed, and every stream must be whole, with [DONE]. At each signal, streams of that router must be in
progress: rolling.py LAUNCHER ENGINE WORK
"""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from ports import free_port

launcher, engine, work = sys.argv[1:]
LIMIT_S = 60
CLIENTS = 16
STREAMS = 6
# As engine.py sends.
EVENTS = 50
STREAM_S = 5
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
BODY = json.dumps(CHAT)
STREAM_BODY = json.dumps({**CHAT, "stream": True})


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
        self.name = f"r{port}"
        self.start()

    def start(self):
        command = [launcher, "serve", "--workers", engine, "--port", str(self.port)]
        command += ["--metrics-port", "0", "--admin-port", "0"]
        command += ["--drain-delay", "3s", "--drain-timeout", "20s"]
        log = open(f"{work}/router-{self.port}.log", "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        await_true(f"router {self.port}", lambda: answers(self.port, "/readiness"))

    def restart(self):
        """Restarts the router; returns the time of the signal."""
        signal_at = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(LIMIT_S)
        if code != 0:
            sys.exit(f"router {self.port}: exit code {code} (expected: 0)")
        self.start()
        return signal_at


class Stream(threading.Thread):
    """Sends streams one after the other, each on a connection of its own. They begin apart, so some have just begun at a signal."""

    def __init__(self, number):
        super().__init__(daemon=True)
        self.number, self.good, self.bad = number, 0, []
        # Router and begin of the stream in progress; the begin is the moment when its head has arrived.
        self.current = None
        # Router, begin and end of each whole stream.
        self.whole = []

    def run(self):
        Client.done.wait(self.number * STREAM_S / STREAMS)
        while not Client.done.is_set():
            try:
                connection = http.client.HTTPConnection("127.0.0.1", front, timeout=LIMIT_S)
                connection.request("POST", "/v1/chat/completions", STREAM_BODY, {"Content-Type": "application/json"})
                response = connection.getresponse()
                router, begin = self.current = (response.headers["x-served-by"], time.monotonic())
                text = b""
                while piece := response.read1():
                    text += piece
                whole = text.endswith(b"data: [DONE]\n\n") and text.count(b'"content"') == EVENTS
                if response.status == 200 and whole:
                    self.good += 1
                    self.whole.append((router, begin, time.monotonic()))
                else:
                    self.bad.append(f"stream: {response.status} {text.count(b'content')} events, ends {text[-200:]}")
            except (OSError, http.client.HTTPException) as e:
                self.bad.append(f"stream: {e!r}")
            self.current = None

    def just_begun(self, router):
        """True if this thread reads a stream of the router that has most of its events before it."""
        current = self.current
        return current is not None and current[0] == router.name and time.monotonic() - current[1] < STREAM_S / 4


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
servers = "\n".join(f"  server {r.name} 127.0.0.1:{r.port} check inter 500ms fall 2 rise 1" for r in routers)
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
  http-response set-header x-served-by %s
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
streams = [Stream(number) for number in range(STREAMS)]
# Router and time of each signal.
signals = []
try:
    await_true("HAProxy", lambda: up() == 2)
    for client in clients + streams:
        client.start()
    for router in routers:
        before = sum(client.good for client in clients)
        await_true("load", lambda: sum(client.good for client in clients) > before + 200)
        await_true("a stream", lambda: any(stream.just_begun(router) for stream in streams))
        signals.append((router.name, router.restart()))
        await_true("HAProxy", lambda: up() == 2)
    Client.done.set()
    for client in clients + streams:
        client.join(LIMIT_S)
finally:
    haproxy.terminate()
    haproxy.wait()
    for router in routers:
        router.process.terminate()
        router.process.wait(LIMIT_S)
bad = [each for client in clients + streams for each in client.bad]
chats, whole = (sum(each.good for each in some) for some in (clients, streams))
across = [
    sum(name == router and begin < at < end for stream in streams for router, begin, end in stream.whole)
    for name, at in signals
]
print(f"routers: {chats} chats and {whole} streams of 5 s during two restarts, {len(bad)} failed;", end=" ")
print(f"streams of the router from before to after its signal: {' and '.join(map(str, across))}")
if any(each.is_alive() for each in clients + streams) or whole < STREAMS:
    bad.append(f"{whole} whole streams (expected: at least {STREAMS}, and none without an end)")
if 0 in across:
    bad.append("no whole stream from before to after a signal (expected: one for each restart)")
if bad:
    sys.exit("\n".join(bad[:5]))
os._exit(0)
