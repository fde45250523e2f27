#!/usr/bin/env python3
"""Faults of real vLLM engines, each sent to one engine directly and to a fleet through the router.

    faults.py KIT [--only NAME,NAME...] [--first N]

KIT is the directory of a kit that runs vLLM engines on CPU: `setup.sh`, `fleet.py`, `wait.sh`, `kill9.sh`. KIT_HOME is the
kit's data (default: pointsman-real-engines in the cache directory). Installs the kit if needed. Uses engines N to N+3, by default
1 to 4 at ports 8101 to 8104, and takes about 15 minutes on two cores. --only runs some parts: usage, control, queue, kill,
term, hung, poison. Prints a table and exits with 1 if a row does not hold.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HOME = os.environ.get("KIT_HOME") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pointsman-real-engines")
PYTHON = os.path.join(HOME, "venv", "bin", "python")
MODEL = "tiny"
LONG = 2500  # output tokens of an answer that is under way when its engine fails
PARTS = ("usage", "control", "queue", "kill", "term", "hung", "poison")
BOUND = 120  # seconds after which a request counts as hanging


class Answer:
    """Status, headers and body of an answer; status 0 and the exception's text if there is none."""

    def __init__(self, status, headers, body, seconds, first=None):
        self.status, self.headers, self.body, self.seconds, self.first = status, headers, body, seconds, first

    def finish(self):
        found = re.findall(rb'"(?:finish_reason|stop_reason)":\s*"([a-z_]+)"', self.body)
        return found[-1].decode() if found else None

    def error_event(self):
        return b"event: error" in self.body or b'"error":{' in self.body or b'"error": {' in self.body

    def ended_whole(self):
        return self.finish() in ("stop", "length", "end_turn", "max_tokens")

    def __str__(self):
        how = self.finish() or ("error" if self.error_event() else "")
        return f"{self.status} {how} {self.seconds:.1f} s".replace("  ", " ")


def call(base, method, path, body=None, headers=None, timeout=BOUND, began=None):
    """Sends one request on a connection of its own. `began` is set when the first byte of the body has come."""
    url = urlsplit(base)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
    data = None if body is None else json.dumps(body).encode()
    start = time.time()
    status, heads, raw, first = 0, {}, b"", None
    try:
        connection.request(method, path, data, {"connection": "close", "content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        status, heads = response.status, {k.lower(): v for k, v in response.getheaders()}
        while True:
            piece = response.read1(65536)
            if not piece:
                break
            if first is None:
                first = time.time() - start
                if began:
                    began.set()
            raw += piece
        return Answer(status, heads, raw, time.time() - start, first)
    except Exception as failure:
        # A cut answer keeps the bytes that came. The text of the failure marks it.
        return Answer(status, heads, raw + repr(failure).encode(), time.time() - start, first)
    finally:
        connection.close()


def post(base, path, body, **options):
    return call(base, "POST", path, body, **options)


def chat(text, tokens=8, **more):
    return {"model": MODEL, "messages": [{"role": "user", "content": text}], "max_tokens": tokens, "temperature": 0, **more}


class Engines:
    """Real engines, started and ended by number. Number 1 here is number `first` of the kit."""

    def __init__(self, kit, first=1):
        self.kit, self.first = kit, first
        if not os.access(PYTHON, os.X_OK):
            subprocess.run([os.path.join(kit, "setup.sh")], check=True)
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.server = subprocess.Popen([PYTHON, os.path.join(kit, "fleet.py"), "serve"], stdout=self.log, stderr=subprocess.STDOUT)
        wait_for("the engines' common process", lambda: "ready" in open(self.log.name).read(), 300)
        self.running = set()

    def named(self, number):
        return str(self.first - 1 + number)

    def url(self, number):
        return f"http://127.0.0.1:{8100 + int(self.named(number))}"

    def start(self, *numbers, flags=()):
        for number in numbers:
            subprocess.run([PYTHON, os.path.join(self.kit, "fleet.py"), "start", self.named(number), *flags], check=True, stdout=subprocess.DEVNULL)
            self.running.add(number)
        subprocess.run([os.path.join(self.kit, "wait.sh"), *map(self.named, numbers)], check=True, stdout=subprocess.DEVNULL)

    def signal(self, number, name="KILL"):
        subprocess.run([os.path.join(self.kit, "kill9.sh"), self.named(number), name], check=False, stderr=subprocess.DEVNULL)

    def terminate(self, number):
        """SIGTERM to the main process alone, as a container runtime sends it."""
        os.kill(int(open(os.path.join(HOME, "run", f"engine-{self.named(number)}.pid")).read()), signal.SIGTERM)

    def alive(self, number):
        return call(self.url(number), "GET", "/health", timeout=5).status == 200

    def stop(self, *numbers):
        for number in numbers or sorted(self.running):
            self.signal(number, "CONT")
            self.signal(number, "KILL")
            wait_for(f"the end of engine {number}", lambda: not self.alive(number), 60)
            self.running.discard(number)

    def close(self):
        self.stop()
        self.server.terminate()
        self.server.wait()


def wait_for(what, condition, seconds=60):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise AssertionError(f"still not so after {seconds} s: {what}")
        time.sleep(0.2)


class Router:
    """The router in front of engines."""

    def __init__(self, urls, *flags, policy="round_robin"):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        command = [os.path.join(ROOT, "pointsman"), "serve", "--port", "0", "--policy", policy, *flags, "--workers", *urls]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, cwd=ROOT)
        self.url = None
        wait_for("the router serves", self.serves, 300)
        self.urls = urls

    def serves(self):
        if self.process.poll() is not None:
            raise AssertionError(open(self.log.name).read())
        found = re.search(r"listens on (http://\S+)", open(self.log.name).read())
        self.url = found.group(1).rstrip(",.") if found else None
        return self.url and post(self.url, "/v1/chat/completions", chat("hi", 1), timeout=30).status == 200

    def admin(self):
        """The address of the calls that change engines."""
        found = re.search(r"[Aa]dmin[^\n]*?(http://[^\s,]+)", open(self.log.name).read())
        return found.group(1).rstrip(",.") if found else self.url

    def all_up(self, number):
        return sum(post(self.url, "/v1/chat/completions", chat(f"up {i}", 1), timeout=30).status == 200 for i in range(number)) == number

    def close(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Table:
    def __init__(self):
        self.rows, self.failed = [], 0

    def row(self, name, direct, routed, holds):
        self.failed += not holds
        self.rows.append((name, str(direct), str(routed), "holds" if holds else "FAILS"))
        print(f"{name:44} | {direct!s:34} | {routed!s:58} | {'holds' if holds else 'FAILS'}", flush=True)


def under_way(base, requests, act, count):
    """Sends the requests, acts when `count` of the streams have begun, and returns the answers by name."""
    events = {name: threading.Event() for name, _, _ in requests}
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        futures = {
            name: pool.submit(post, base, path, body, began=events[name]) for name, path, body in requests}
        streams = [name for name, _, body in requests if body.get("stream")]
        wait_for("streams have begun", lambda: sum(events[name].is_set() for name in streams) >= count, 60)
        act()
        return {name: future.result() for name, future in futures.items()}


def long_requests(tag):
    more = {"ignore_eos": True}
    return [
        ("chat, whole", "/v1/chat/completions", chat(f"a {tag}", LONG, **more)),
        ("chat, streamed", "/v1/chat/completions", chat(f"b {tag}", LONG, stream=True, **more)),
        ("completion, whole", "/v1/completions",
         {"model": MODEL, "prompt": f"c {tag}", "max_tokens": LONG, "temperature": 0, **more}),
        ("completion, streamed", "/v1/completions",
         {"model": MODEL, "prompt": f"d {tag}", "max_tokens": LONG, "temperature": 0, "stream": True, **more}),
        ("messages, streamed", "/v1/messages", chat(f"e {tag}", LONG, stream=True)),
        ("responses, streamed", "/v1/responses",
         {"model": MODEL, "input": f"f {tag}", "max_output_tokens": LONG, "temperature": 0, "stream": True, **more}),
    ]


def honest(answer):
    """A truncated answer is not passed on as a whole one."""
    if answer.finish() == "abort":
        return False
    if answer.status != 200:
        return answer.status >= 500
    return answer.ended_whole() or answer.error_event() or b"response.completed" in answer.body or b"response.failed" in answer.body


def poison(engines, table):
    rng = random.Random(1)

    def body(stream):
        prompt = [rng.randrange(300, 4000) for _ in range(3000)]
        return {"model": MODEL, "prompt": prompt, "max_tokens": 5, "seed": 5, "temperature": 1.0, "stream": stream}

    for stream in (False, True):
        engines.start(1, 2, 3, 4)
        router = Router([engines.url(n) for n in (1, 2, 3)])
        try:
            poisoned = body(stream)
            direct = post(engines.url(4), "/v1/completions", poisoned, timeout=60)
            routed = [post(router.url, "/v1/completions", poisoned) for _ in range(3)]
            time.sleep(3)
            left = [n for n in (1, 2, 3) if engines.alive(n)]
            others = [post(router.url, "/v1/chat/completions", chat(f"after {i}")).status for i in range(6)]
            table.row(
                "poison, " + ("streamed" if stream else "whole") + ", sent three times",
                f"{direct.status}, engine {'alive' if engines.alive(4) else 'ended'}",
                f"{[a.status for a in routed]}, {len(left)} of 3 engines alive, others {others}",
                len(left) >= 1 and others == [200] * 6 and all(a.status >= 500 or a.error_event() or a.status == 200 for a in routed))
        finally:
            router.close()
            engines.stop()


def end_of_engine(engines, table, name, act):
    """Six long requests on two engines, one of which ends; then the same directly."""
    engines.start(1, 2)
    router = Router([engines.url(n) for n in (1, 2)])
    try:
        wait_for("both engines serve", lambda: router.all_up(4))
        routed = under_way(router.url, long_requests(name) + [
            (f"again {n}", p, b) for n, p, b in long_requests(name + " again")], lambda: act(1), 6)
        if not engines.alive(1):
            engines.stop(1)
            engines.start(1)
        direct = under_way(engines.url(1), long_requests(name + " direct"), lambda: act(1), 3)
        for request in (n for n, _, _ in long_requests(name)):
            pair = [routed[request], routed[f"again {request}"]]
            table.row(f"{name}: {request}", direct[request], " and ".join(map(str, pair)), all(map(honest, pair)))
        after = [post(router.url, "/v1/chat/completions", chat(f"after {i}")).status for i in range(4)]
        table.row(f"{name}: four requests afterwards", "-", after, after == [200] * 4)
    finally:
        router.close()
        engines.stop()


def hung(engines, table):
    """SIGSTOP: the engine accepts connections and answers nothing."""
    engines.start(1, 2)
    router = Router([engines.url(n) for n in (1, 2)])
    try:
        wait_for("both engines serve", lambda: router.all_up(4))
        engines.signal(1, "STOP")
        direct = post(engines.url(1), "/v1/chat/completions", chat("hung"), timeout=20)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(
                lambda i: post(router.url, "/v1/chat/completions", chat(f"hung {i}", stream=i % 2 == 0)), range(8)))
        slowest = max(a.seconds for a in answers)
        table.row("SIGSTOP: eight requests", direct, f"{[a.status for a in answers]}, slowest {slowest:.1f} s",
                  all(a.status == 200 and a.ended_whole() for a in answers))
        engines.signal(1, "CONT")
        wait_for("the engine serves again", lambda: any(
            post(router.url, "/v1/chat/completions", chat(f"back {time.time()}")).headers.get("x-pointsman-worker", "").endswith(engines.url(1).removeprefix("http://127.0.0.1"))
            for _ in range(4)), 120)
        table.row("SIGCONT: the engine serves again", "-", "yes", True)
    finally:
        engines.signal(1, "CONT")
        router.close()
        engines.stop()


def control_calls(engines, table):
    """A LoRA adapter is loaded by one call through the router, and serves on both engines."""
    engines.start(1, 2, flags=["--enable-lora", "--max-lora-rank", "16", "--max-loras", "2"])
    router = Router([engines.url(n) for n in (1, 2)])
    try:
        wait_for("both engines serve", lambda: router.all_up(4))
        load = {"lora_name": "added", "lora_path": os.path.join(HOME, "lora1")}
        loaded = post(router.admin(), "/v1/load_lora_adapter", load)
        body = {**chat("adapter"), "model": "added"}
        answers = [post(router.url, "/v1/chat/completions", body) for _ in range(8)]
        workers = {a.headers.get("x-pointsman-worker") for a in answers}
        direct = [post(engines.url(n), "/v1/chat/completions", body).status for n in (1, 2)]
        table.row("load_lora_adapter, then 8 requests", f"{direct}", f"{loaded.status}, {[a.status for a in answers]} from {len(workers)} engines",
                  loaded.status == 200 and all(a.status == 200 for a in answers) and len(workers) == 2)
        again = post(router.admin(), "/v1/load_lora_adapter", load)
        table.row("load_lora_adapter again", post(engines.url(1), "/v1/load_lora_adapter", load).status, again.status, again.status >= 400)
        unloaded = post(router.admin(), "/v1/unload_lora_adapter", {"lora_name": "added"})
        gone = [post(router.url, "/v1/chat/completions", body).status for _ in range(2)]
        table.row("unload_lora_adapter, then 2 requests", "-", f"{unloaded.status}, {gone}", unloaded.status == 200 and gone == [404, 404])
        reset = post(router.admin(), "/reset_prefix_cache", {})
        table.row("reset_prefix_cache", post(engines.url(1), "/reset_prefix_cache", {}).status, reset.status, reset.status == 200)
    finally:
        router.close()
        engines.stop()


def queue_limit(engines, table):
    """Engines that refuse what exceeds their queue: the fleet's room is used, and no breaker opens."""
    engines.start(1, 2, flags=["--max-num-queued-reqs", "2"])
    router = Router([engines.url(n) for n in (1, 2)])
    try:
        wait_for("both engines serve", lambda: router.all_up(4))

        def burst(base, size):
            with concurrent.futures.ThreadPoolExecutor(size) as pool:
                return sorted(a.status for a in pool.map(
                    lambda i: post(base, "/v1/chat/completions", chat(f"queue {i}", 200, ignore_eos=True)), range(size)))

        direct, routed = burst(engines.url(1), 6), burst(router.url, 4)
        more = burst(router.url, 12)
        after = [post(router.url, "/v1/chat/completions", chat(f"after {i}")).status for i in range(4)]
        table.row("queue of 2: as many as the fleet takes", f"6: {direct}", f"4: {routed}", routed == [200] * 4)
        table.row("queue of 2: more than the fleet takes", "-", f"12: {more}, after {after}",
                  set(more) <= {200, 429, 503} and after == [200] * 4)
    finally:
        router.close()
        engines.stop()


def usage(engines, table):
    """Cached tokens are learned from answers that have their usage anywhere."""
    engines.start(1, 2)
    router = Router([engines.url(n) for n in (1, 2)], "--decisions-sample", "1", policy="cost")
    rng = random.Random(2)
    ids = [rng.randrange(300, 4000) for _ in range(320)]
    text = " ".join(rng.choices("import os read the file and then write".split(), k=300))
    requests = [
        ("chat", "/v1/chat/completions", chat(text)),
        ("chat, token ids returned", "/v1/chat/completions", chat(text, return_token_ids=True)),
        ("chat, prompt logprobs", "/v1/chat/completions", chat(text, prompt_logprobs=1)),
        ("completion", "/v1/completions", {"model": MODEL, "prompt": text, "max_tokens": 8}),
        ("token ids, whole", "/inference/v1/generate", {"model": MODEL, "token_ids": ids, "sampling_params": {"max_tokens": 300, "ignore_eos": True}}),
        ("messages", "/v1/messages", chat(text)),
        ("responses", "/v1/responses", {"model": MODEL, "input": text, "max_output_tokens": 8}),
    ]
    try:
        for name, path, body in requests:
            answers = [post(router.url, path, body) for _ in range(2)]
            time.sleep(0.3)
            found = json.loads(call(router.admin(), "GET", "/decisions?limit=1").body)["decisions"][0].get("measured", {})
            table.row(f"usage: {name}", "-", f"{[a.status for a in answers]}, prompt {found.get('prompt_tokens')}, cached {found.get('cached_tokens')}",
                      all(a.status == 200 for a in answers) and (found.get("prompt_tokens") or 0) > 0 and found.get("cached_tokens") is not None)
    finally:
        router.close()
        engines.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kit")
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    only = options.only.split(",") if options.only else list(PARTS)
    if set(only) - set(PARTS):
        parser.error(f"--only: {options.only} (expected: of {', '.join(PARTS)})")
    table = Table()
    engines = Engines(os.path.abspath(options.kit), options.first)
    parts = {
        "usage": lambda: usage(engines, table),
        "control": lambda: control_calls(engines, table),
        "queue": lambda: queue_limit(engines, table),
        "kill": lambda: end_of_engine(engines, table, "SIGKILL", lambda n: engines.signal(n, "KILL")),
        "term": lambda: end_of_engine(engines, table, "SIGTERM", engines.terminate),
        "hung": lambda: hung(engines, table),
        "poison": lambda: poison(engines, table),
    }
    try:
        for name in only:
            try:
                parts[name]()
            except Exception as failure:
                table.row(name, "-", f"{type(failure).__name__}: {failure}"[-600:], False)
    finally:
        engines.close()
    print(f"{len(table.rows)} rows, {table.failed} do not hold")
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
