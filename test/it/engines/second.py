#!/usr/bin/env python3
"""llama.cpp's server, the second real engine beside vLLM: two of them directly and through the router.

    second.py [--only WORD]

ENGINES_HOME is the directory for the packages and the model (default: pointsman-llamacpp in the cache directory). Installs
what it needs there. Takes about 3 minutes on two cores. Prints a table and exits with 1 if a row does not hold.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

from faults import Router, Table, call, chat, honest, post, under_way, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.environ.get("ENGINES_HOME") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pointsman-llamacpp")
PYTHON = os.path.join(HOME, "venv", "bin", "python")
WEIGHTS = os.path.join(HOME, "tiny.gguf")
SLOTS = 6  # requests at a time
LONG = 6000  # output tokens of an answer that is under way: many seconds


def install():
    if not os.access(PYTHON, os.X_OK):
        subprocess.run([sys.executable, "-m", "venv", os.path.join(HOME, "venv")], check=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "-r", os.path.join(HERE, "requirements.txt")], check=True)
    subprocess.run([PYTHON, os.path.join(HERE, "llamacpp.py"), "model", WEIGHTS], check=True)


class Engine:
    """A llama.cpp server in a process of its own."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.process = subprocess.Popen(
            [PYTHON, os.path.join(HERE, "llamacpp.py"), "serve", WEIGHTS, str(self.port), str(SLOTS)],
            stdout=self.log, stderr=subprocess.STDOUT)
        wait_for("the engine serves", self.serves, 120)

    def serves(self):
        if self.process.poll() is not None:
            raise AssertionError(open(self.log.name).read())
        return call(self.url, "GET", "/health", timeout=5).status == 200

    def busy(self):
        """The number of requests that are computed."""
        return sum(slot["is_processing"] for slot in json.loads(call(self.url, "GET", "/slots").body))

    def version(self):
        return next(line for line in open(self.log.name).read().splitlines() if line.startswith("llama.cpp "))

    def kill(self):
        self.process.kill()
        self.process.wait()


def text(seed, words):
    return " ".join(random.Random(seed).choices("import os read the file and then write".split(), k=words))


def decision(router):
    return json.loads(call(router.admin(), "GET", "/decisions?limit=1").body)["decisions"][0].get("measured", {})


def models(engines, router, table):
    direct = json.loads(call(engines[0].url, "GET", "/v1/models").body)["data"]
    routed = json.loads(call(router.url, "GET", "/v1/models").body)["data"]
    ids = [sorted([m["id"], *[a for a in m.get("aliases", []) if a != m["id"]]]) for m in direct][0]
    table.row("models and aliases", ids, sorted(m["id"] for m in routed), sorted(m["id"] for m in routed) == ids == ["small", "tiny"])
    answers = [post(router.url, "/v1/chat/completions", {**chat("hi", 1), "model": name}).status for name in ("tiny", "small", "other")]
    table.row("requests for tiny, small, other", "-", answers, answers == [200, 200, 404])
    table.row("readiness", "-", call(router.url, "GET", "/readiness").status, call(router.url, "GET", "/readiness").status == 200)


def usage(engines, router, table):
    """The counts of every kind of answer are learned: from `usage`, or from `timings` where a stream has no usage."""
    more = {"stream": True}
    counted = {"stream": True, "stream_options": {"include_usage": True}}
    for number, (name, path, body) in enumerate([
        ("chat", "/v1/chat/completions", {}),
        ("chat, streamed", "/v1/chat/completions", more),
        ("chat, streamed with usage", "/v1/chat/completions", counted),
        ("completion", "/v1/completions", {}),
        ("completion, streamed", "/v1/completions", more),
        ("messages", "/v1/messages", {}),
        ("messages, streamed", "/v1/messages", more),
        ("responses", "/v1/responses", {}),
        ("responses, streamed", "/v1/responses", more),
    ]):
        prompt = text(number, 120)
        base = (chat(prompt, 4) if "chat" in path or "messages" in path
                else {"model": "tiny", "input": prompt, "max_output_tokens": 4} if "responses" in path
                else {"model": "tiny", "prompt": prompt, "max_tokens": 4})
        answers, found = [], {}
        for turn in range(2):
            answers.append(post(router.url, path, {**base, **body}))

            def learned():
                found.clear()
                found.update(decision(router))
                return (found.get("cached_tokens") or 0) > (0 if turn else -1)
            try:
                wait_for("counts", learned, 5)
            except AssertionError:
                pass
        table.row(f"usage: {name}, twice", "-", f"{[a.status for a in answers]}, prompt {found.get('prompt_tokens')}, cached {found.get('cached_tokens')}",
                  all(a.status == 200 and (honest(a) or b'"status":"completed"' in a.body) for a in answers)
                  and (found.get("cached_tokens") or 0) > 400 and (found.get("prompt_tokens") or 0) >= found["cached_tokens"])


def affinity(engines, router, table):
    """Conversations stay on the engine that has their prefix. The engines' own counts say so."""
    talks = [[{"role": "user", "content": text(100 + i, 60)}] for i in range(8)]
    moved, cached, prompts, places = 0, 0, 0, {}
    for turn in range(4):
        for i, talk in enumerate(talks):
            answer = post(router.url, "/v1/chat/completions", {"model": "tiny", "messages": talk, "max_tokens": 8})
            body = json.loads(answer.body)
            worker = answer.headers.get("x-pointsman-worker")
            moved += places.setdefault(i, worker) != worker
            if turn:
                prompts += body["usage"]["prompt_tokens"]
                cached += body["usage"]["prompt_tokens_details"]["cached_tokens"]
            talk += [{"role": "assistant", "content": body["choices"][0]["message"]["content"]}, {"role": "user", "content": text(turn, 8)}]
    table.row("8 conversations of 4 turns", "-", f"{len(set(places.values()))} engines, {moved} moved, {cached} of {prompts} tokens cached",
              moved == 0 and len(set(places.values())) == 2 and cached > prompts / 2)


def load(engines, router, table):
    """The engines' metrics become the workers' load."""
    def running():
        workers = json.loads(call(router.admin(), "GET", "/workers").body)["workers"]
        return sum((w.get("engine") or {}).get("running") or 0 for w in workers)

    seen = []
    under_way(router.url, [(str(i), "/v1/chat/completions", chat(f"load {i}", 4000, stream=True)) for i in range(3)],
              lambda: (wait_for("three are reported", lambda: running() == 3), seen.append(running())), 3)
    wait_for("none is reported", lambda: running() == 0)
    table.row("running requests in /workers", "-", f"{seen[0]}, then 0", True)


def cancel(engines, router, table):
    """A client that leaves frees its slot of the engine."""
    def leave(base, path, body):
        url = urlsplit(base)
        client = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        client.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        wait_for("the engine computes", lambda: sum(e.busy() for e in engines) == 1)
        client.close()
        start = time.time()
        wait_for("the engine stops", lambda: sum(e.busy() for e in engines) == 0)
        return time.time() - start

    length = post(engines[0].url, "/v1/chat/completions", chat("full length", LONG)).seconds
    for name, path in ("chat", "/v1/chat/completions"), ("messages", "/v1/messages"):
        for stream in (True, False):
            body = chat(f"cancel {name} {stream}", LONG, stream=stream)
            direct = leave(engines[0].url, path, body)
            routed = leave(router.url, path, body)
            # This build computes a whole answer to its end, also without a router.
            table.row(f"client leaves: {name}, {'streamed' if stream else 'whole'}", f"{direct:.1f} s", f"{routed:.1f} s (full length: {length:.0f} s)",
                      routed < length / 2 or direct > length / 2)


def errors(engines, router, table):
    """The engine's refusals are passed on as they are, and leave the fleet as it is."""
    for name, path, body in [
        ("no messages", "/v1/chat/completions", {"model": "tiny"}),
        ("longer than the context", "/v1/chat/completions", chat("x" * 40_000)),
        ("embeddings without the flag", "/v1/embeddings", {"model": "tiny", "input": "a"}),
        ("a message that the engine calls its own error", "/v1/messages", {"model": "tiny"}),
        ("unknown parameter's type", "/v1/chat/completions", {**chat("a"), "n_probs": "x"}),
    ]:
        direct = post(engines[0].url, path, body)
        # Different bodies, because the router itself refuses a body that two engines answered with 500.
        routed = [post(router.url, path, {**body, "user": str(i)}) for i in range(20)]
        after = [post(router.url, "/v1/chat/completions", chat(f"after {i}")).status for i in range(4)]
        table.row(f"20 times: {name}", direct.status, f"{sorted({a.status for a in routed})}, after {after}",
                  direct.status >= 400 and all(a.status == direct.status and a.body == direct.body for a in routed) and after == [200] * 4)


def connections(engines, router, table):
    """The engine closes each connection after 100 requests."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: post(router.url, "/v1/chat/completions", chat(f"c {i}", 1)), range(600)))
    table.row("600 requests on connections of 100", "-", sorted({a.status for a in answers}), all(a.status == 200 and a.ended_whole() for a in answers))


def requests(tag):
    """One long request of each kind."""
    return [
        ("chat, whole", "/v1/chat/completions", chat(f"a {tag}", 1500)),
        ("chat, streamed", "/v1/chat/completions", chat(f"b {tag}", 1500, stream=True)),
        ("completion, whole", "/v1/completions", {"model": "tiny", "prompt": f"c {tag}", "max_tokens": 1500}),
        ("completion, streamed", "/v1/completions", {"model": "tiny", "prompt": f"d {tag}", "max_tokens": 1500, "stream": True}),
        ("messages, streamed", "/v1/messages", chat(f"e {tag}", 1500, stream=True)),
        ("responses, streamed", "/v1/responses", {"model": "tiny", "input": f"f {tag}", "max_output_tokens": 1500, "stream": True}),
    ]


def killed(engines, router, table):
    """SIGKILL while six requests of each kind are under way, and the engine's return."""
    answers = under_way(router.url, [(f"{name} {i}", path, body) for i in range(2) for name, path, body in requests(i)], engines[0].kill, 6)
    for name, _, _ in requests(0):
        pair = [answers[f"{name} {i}"] for i in range(2)]
        table.row(f"SIGKILL: {name}", "-", " and ".join(map(str, pair)), all(map(honest, pair)))
    after = [post(router.url, "/v1/chat/completions", chat(f"after {i}")).status for i in range(4)]
    table.row("SIGKILL: four requests afterwards", "-", after, after == [200] * 4)
    engines[0].start()
    wait_for("the engine serves again", lambda: any(
        post(router.url, "/v1/chat/completions", chat(text(time.time(), 30))).headers.get("x-pointsman-worker", "").endswith(str(engines[0].port))
        for _ in range(4)), 120)
    table.row("the engine serves again", "-", "yes", True)


def hung(engines, router, table):
    """SIGSTOP: the engine accepts connections and answers nothing."""
    engines[0].process.send_signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: post(router.url, "/v1/chat/completions", chat(text(900 + i, 20), stream=i % 2 == 0)), range(8)))
    engines[0].process.send_signal(signal.SIGCONT)
    table.row("SIGSTOP: eight requests", "-", f"{[a.status for a in answers]}, slowest {max(a.seconds for a in answers):.1f} s",
              all(a.status == 200 and a.ended_whole() for a in answers))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    install()
    table, engines, router = Table(), [], None
    try:
        engines += [Engine(), Engine()]
        print(engines[0].version())
        router = Router([e.url for e in engines], "--decisions-sample", "1", "--engine-load-interval", "100ms", policy="cost")
        for part in models, usage, affinity, load, cancel, errors, connections, killed, hung:
            if options.only in part.__name__:
                try:
                    part(engines, router, table)
                except Exception as failure:
                    table.row(part.__name__, "-", f"{type(failure).__name__}: {failure}"[-600:], False)
    finally:
        if router:
            router.close()
        for engine in engines:
            engine.process.send_signal(signal.SIGCONT)
            engine.kill()
    print(f"{len(table.rows)} rows, {table.failed} do not hold")
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
