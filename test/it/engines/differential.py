#!/usr/bin/env python3
"""Asks a real vLLM engine and the simulated engine the same requests, and lists the differences in form.

    differential.py KIT [--only WORD] [--show] [--engine URL] [--simulator URL] [--real-answers FILE]

KIT is the directory of a kit that runs vLLM engines on CPU (`setup.sh`, `fleet.py`, `wait.sh`, `kill9.sh`, and `checks.py` with
the requests). KIT_HOME is the kit's data (default: pointsman-real-engines in the cache directory). Installs the kit if needed.
Starts engine 5 at port 8105 and a simulated engine, unless they are given. FILE keeps the real answers: it is written once and
read later, so a change of the simulator is compared in seconds. Takes about 3 minutes on two cores.

Compared: status, the headers that a router reads, keys and types of JSON, type and code of errors, order and form of events.
Generated text, numbers, ids and the words of error messages are not compared; a member that is null equals a missing one. MEMBERS and KNOWN have the differences that
stay, with reasons, as docs/simulator.md. Exits with 1 if there are others, or if a known one is gone.
"""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HOME = os.environ.get("KIT_HOME") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pointsman-real-engines")
PYTHON = os.path.join(HOME, "venv", "bin", "python")
NUMBER = 5
HEADERS = ("content-type", "allow", "retry-after", "www-authenticate", "location")
SIMULATOR = ["--model", "tiny", "--max-model-len", "4096", "--block-size", "32", "--enable-scale-out", "--kv-blocks", "1024"]

# Members that only real engines send, by a pattern of their path, with the reason. They are left out of the comparison.
MEMBERS = {
    r"system_fingerprint": "names the build of an engine",
    r"created_cache_tokens|cache_write_tokens|cached_tokens_per_turn|context_management": "counts that no router reads",
    r"permission\[\]": "vLLM's constant list of permissions",
    r"logprobs|prompt_logprobs": "the invented text has no probabilities",
    r"weight_versions|output_mode": "versions of weights are not simulated",
    r"tool_calls": "answers are texts, never calls of tools",
    r"choices\[\]\.stop_reason": "the invented text contains no stop string",
    r"sampling_params|priority": "render returns the parameters that change the length",
    r"frequency_penalty|presence_penalty|max_output_tokens|service_tier|temperature|top_p|top_logprobs|truncation|tools\[\]|(input|output|tool_output)_tokens_per_turn|tool_output_tokens":
        "responses do not repeat the settings of their request",
}

# Name of the request: reason for the difference. A name that ends with * stands for all that begin with it.
LIMITED = "the simulated engine checks only fields that change its work"
PARAMETER = "the error names another parameter"
FINISH = "the finish reason has an event of its own, behind that of the last token"
NOT_SERVED = "not simulated; engines answer it themselves, the router passes it on"
POOLS = "the simulated engine embeds and ranks beside generating"
KNOWN = {
    "server_info*": "the engine of the kit fails here",
    "kv_event_sources": "served only with --kv-events",
    "openapi.json": NOT_SERVED,
    "chat stream": FINISH, "chat stream usage": FINISH, "chat stream continuous usage": "usage comes at the end only",
    "chat tools required stream": FINISH, "chat stream return_token_ids": FINISH, "chat stream logprobs": FINISH,
    "chat stream max_tokens 1": FINISH, "completion return_token_ids stream": FINISH, "generate tokens stream": FINISH,
    "chat n=3 stream": LIMITED, "chat model number": LIMITED, "chat temperature -1": LIMITED, "chat content-type text": LIMITED,
    "chat no content-type": LIMITED, "chat stream_options without stream": LIMITED, "completion suffix": LIMITED,
    "completion token out of range": LIMITED, "completion echo max_tokens 0": LIMITED, "messages bad": LIMITED,
    "completion beam": "beam search is not simulated",
    "chat bad JSON": PARAMETER, "chat empty body": PARAMETER, "chat JSON array": PARAMETER, "chat wrong type max_tokens": PARAMETER,
    "chat no messages": PARAMETER, "chat empty messages": PARAMETER, "chat messages string": PARAMETER, "chat too long*": PARAMETER,
    "chat max_tokens too large": PARAMETER, "completion stream bad": PARAMETER, "chat n=0": PARAMETER, "completion too long": PARAMETER,
    "responses bad JSON": PARAMETER, "messages bad JSON": PARAMETER, "tokenize bad JSON": PARAMETER,
    "chat batch": NOT_SERVED, "derender": NOT_SERVED, "abort_requests": NOT_SERVED, "invocations": NOT_SERVED,
    "generative_scoring": NOT_SERVED, "collective_rpc": NOT_SERVED, "load_lora bad path": NOT_SERVED, "unload_lora unknown": NOT_SERVED,
    "responses DELETE unknown": "stored responses can be deleted, as at other engines",
    "embeddings (not an embedder)": POOLS, "score (not a scorer)": POOLS, "rerank (not a reranker)": POOLS, "v1/rerank": POOLS,
    "audio": "the simulated engine transcribes",
    "health HEAD": "HEAD is answered as GET, as by other engines",
}


def more(chat, comp, resp, model, messages):
    """Requests beyond those of the kit."""
    post, get = "POST", "GET"
    usage = {"include_usage": True}
    yield "metrics", get, "/metrics", None
    yield "health HEAD", "HEAD", "/health", None
    yield "health POST", post, "/health", b""
    yield "models POST", post, "/v1/models", b""
    yield "chat stream return_token_ids", post, "/v1/chat/completions", chat(stream=True, return_token_ids=True, stream_options=usage)
    yield "chat stream logprobs", post, "/v1/chat/completions", chat(stream=True, logprobs=True, top_logprobs=2)
    yield "chat stream bad max_tokens", post, "/v1/chat/completions", chat(stream=True, max_tokens=-1)
    yield "chat stream max_tokens 1", post, "/v1/chat/completions", chat(stream=True, max_tokens=1)
    yield "chat stream unknown model", post, "/v1/chat/completions", chat(stream=True, model="nobody")
    yield "chat stream_options without stream", post, "/v1/chat/completions", chat(stream_options=usage)
    yield "chat n=0", post, "/v1/chat/completions", chat(n=0)
    yield "completion logprobs stream", post, "/v1/completions", comp(stream=True, logprobs=1)
    yield "completion return_token_ids", post, "/v1/completions", comp(return_token_ids=True)
    yield "completion return_token_ids stream", post, "/v1/completions", comp(return_token_ids=True, stream=True)
    yield "completion unknown model", post, "/v1/completions", comp(model="nobody")
    yield "completion too long", post, "/v1/completions", comp(prompt="word and word " * 3000)
    yield "completion stop", post, "/v1/completions", comp(stop=["e", "a"])
    yield "responses unknown model", post, "/v1/responses", {**resp(), "model": "nobody"}
    yield "responses bad JSON", post, "/v1/responses", b"{"
    yield "messages stream unknown model", post, "/v1/messages", {"model": "x", "max_tokens": 8, "messages": messages, "stream": True}
    yield "messages bad JSON", post, "/v1/messages", b"{"
    yield "messages GET", get, "/v1/messages", None
    yield "tokenize bad JSON", post, "/tokenize", b"{"
    yield "pause", post, "/pause", b""
    yield "is_paused", get, "/is_paused", None
    yield "resume", post, "/resume", b""
    yield "wake_up", post, "/wake_up", b""
    yield "unload_lora unknown", post, "/v1/unload_lora_adapter", {"lora_name": "x"}
    yield "start_profile", post, "/start_profile", b""


def shape(value, at, into):
    """Adds the paths of a JSON value with their types. Members of a list share one path."""
    if isinstance(value, dict):
        if at.endswith((".logprobs", "top_logprobs[]", "prompt_logprobs[]")) and all(re.fullmatch(r"-?\d+|.*", k) for k in value):
            if at.endswith(("top_logprobs[]", "prompt_logprobs[]")):  # tokens are keys
                value = {"TOKEN": v for v in value.values()}
        into.add((at, "object"))
        for key, inner in value.items():
            shape(inner, f"{at}.{key}", into)
    elif isinstance(value, list):
        into.add((at, "list"))
        for inner in value:
            shape(inner, at + "[]", into)
    elif value is not None:
        kind = "boolean" if isinstance(value, bool) else "number" if isinstance(value, (int, float)) else "string"
        into.add((at, kind))


def errors(value):
    """Type, code and parameter of an error."""
    inner = value.get("error", value) if isinstance(value, dict) else None
    if not isinstance(inner, dict):
        return None
    return {k: inner.get(k) for k in ("type", "code", "param") if k in inner} if "message" in inner else None


def events(text):
    """The events of a stream as their names and shapes; equal ones in a row count once."""
    out = []
    for block in text.split("\n\n"):
        if not block.strip():
            continue
        name = re.search(r"^event: *(.*)$", block, re.M)
        data = re.search(r"^data: *(.*)$", block, re.M)
        paths = set()
        if data and data.group(1) != "[DONE]":
            try:
                shape(json.loads(data.group(1)), "", paths)
            except ValueError:
                paths.add(("", "no JSON"))
        one = ((name.group(1) if name else ""), "[DONE]" if data and data.group(1) == "[DONE]" else frozenset(plain(paths)))
        if not out or out[-1] != one:
            out.append(one)
    return out


def plain(paths):
    """Paths without those of MEMBERS."""
    return {(at, kind) for at, kind in paths if not any(re.search(rf"(^|\.)({one})(\W|$)", at) for one in MEMBERS)}


def said(paths):
    return ", ".join(f"{at or '(all)'} {kind}" for at, kind in sorted(paths)[:8]) + (" ..." if len(paths) > 8 else "") or "nothing"


def differences(real, simulated):
    """The differences between two answers of (status, headers, body)."""
    out = []
    if real[0] != simulated[0]:
        return [f"status {real[0]}, simulator {simulated[0]}: {simulated[2][:100]!r}"]
    for name in HEADERS:
        one, two = (re.sub(r";.*", "", a[1].get(name, "-")).lower() for a in (real, simulated))
        if one != two:
            out.append(f"{name}: {one}, simulator {two}")
    for name in ("content-length", "transfer-encoding"):
        if (name in real[1]) != (name in simulated[1]):
            out.append(f"{name}: {'sent' if name in real[1] else 'not sent'}, simulator the opposite")
    if "event-stream" in real[1].get("content-type", "") + simulated[1].get("content-type", ""):
        one, two = events(real[2]), events(simulated[2])
        if one != two:
            for i in range(max(len(one), len(two))):
                a = one[i] if i < len(one) else ("no event", frozenset())
                b = two[i] if i < len(two) else ("no event", frozenset())
                if a != b:
                    both = isinstance(a[1], frozenset) and isinstance(b[1], frozenset)
                    detail = f"{said(a[1] - b[1])}; simulator {said(b[1] - a[1])}" if both else f"{a[1]}; simulator {b[1]}"
                    out.append(f"event {i + 1} of {len(one)} and {len(two)}: {a[0]} {detail}" + (f" ({b[0]})" if a[0] != b[0] else ""))
                    break
        return out
    if real[1].get("content-type", "").startswith("text/plain") and "# TYPE" in real[2]:
        one, two = (set(re.findall(r"^# TYPE (vllm:\S+) ", text, re.M)) for text in (real[2], simulated[2]))
        if two - one:
            out.append(f"metrics that the engine has not: {', '.join(sorted(two - one))}")
        return out
    try:
        one, two = json.loads(real[2] or "null"), json.loads(simulated[2] or "null")
    except ValueError:
        if (real[2] == "") != (simulated[2] == "") or real[2][:1] == "{" or simulated[2][:1] == "{":
            out.append(f"body {real[2][:80]!r}, simulator {simulated[2][:80]!r}")
        return out
    if real[0] >= 400 and errors(one) != errors(two):
        return [*out, f"error {errors(one)}, simulator {errors(two)}"]
    first, second = set(), set()
    shape(one, "", first)
    shape(two, "", second)
    first, second = plain(first), plain(second)
    if first != second:
        out.append(f"body: {said(first - second)}; simulator {said(second - first)}")
    return out


def known(name):
    return next((reason for key, reason in KNOWN.items() if key == name or key.endswith("*") and name.startswith(key[:-1])), None)


def ask(call, base, request):
    name, method, path, body, *rest = request
    status, heads, raw, _ = call(base, method, path, body, rest[0] if rest else None)
    return status, heads, raw.decode(errors="replace")


class Simulator:
    def __enter__(self):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([os.path.join(ROOT, "pointsman"), "engine", "--port", str(port), *SIMULATOR],
                                        stdout=self.log, stderr=subprocess.STDOUT)
        wait_for(port, self.process, self.log.name)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def wait_for(port, process, log, limit=600):
    end = time.time() + limit
    while time.time() < end:
        if process.poll() is not None:
            sys.exit(f"ended with {process.returncode}: {open(log).read()[-500:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    sys.exit(f"port {port} is not open after {limit} s: {open(log).read()[-500:]}")


class Engine:
    """A real engine; it uses the kit's process that forks engines, or starts one."""

    def __init__(self, kit):
        self.kit, self.forks = kit, None

    def __enter__(self):
        if not os.path.exists(PYTHON):
            subprocess.run([os.path.join(self.kit, "setup.sh")], check=True)
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(os.path.join(HOME, "run", "fleet.sock"))
        except OSError:
            self.forks = subprocess.Popen([PYTHON, os.path.join(self.kit, "fleet.py"), "serve"], stdout=subprocess.PIPE, text=True)
            for text in self.forks.stdout:
                if text.startswith("ready"):
                    break
        subprocess.run([PYTHON, os.path.join(self.kit, "fleet.py"), "start", str(NUMBER)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([os.path.join(self.kit, "wait.sh"), str(NUMBER)], check=True, stdout=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{8100 + NUMBER}"
        return self

    def __exit__(self, *_):
        subprocess.run([os.path.join(self.kit, "kill9.sh"), str(NUMBER)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if self.forks:
            self.forks.terminate()
            self.forks.wait()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("kit")
    options.add_argument("--only", default="")
    options.add_argument("--show", action="store_true", help="print both answers of each difference")
    options.add_argument("--engine", help="URL of a real engine that runs")
    options.add_argument("--simulator", help="URL of a simulated engine that runs")
    options.add_argument("--real-answers", help="file that keeps the real answers")
    given = options.parse_args()
    sys.path.insert(0, given.kit)
    import checks
    requests = [*checks.cases(), *more(checks.chat, checks.comp, checks.resp, checks.M, checks.MSG)]
    kept = given.real_answers
    if kept and os.path.exists(kept):
        real = json.load(open(kept))
    elif given.engine:
        real = {one[0]: ask(checks.call, given.engine, one) for one in requests}
    else:
        with Engine(given.kit) as engine:
            real = {one[0]: ask(checks.call, engine.url, one) for one in requests}
    if kept and not os.path.exists(kept):
        json.dump(real, open(kept, "w"), indent=1)

    def compare(url):
        bad = same = 0
        for one in requests:
            name = one[0]
            if given.only not in name:
                continue
            simulated = ask(checks.call, url, one)
            found, reason = differences(real[name], simulated), known(name)
            same += not found
            verdict = "same" if not found and not reason else "known" if found and reason else "DIFFERS" if found else "GONE"
            bad += verdict in ("DIFFERS", "GONE")
            print(f"{verdict:8}{name:38}{real[name][0]}  {'; '.join(found) if found else ''}{' -- ' + reason if reason else ''}", flush=True)
            if found and given.show:
                print("   real:     ", real[name][2][:1500], "\n   simulated:", simulated[2][:1500])
        print(f"{same} of {len(requests)} have the same form; {bad} differences are not known")
        return bad

    if given.simulator:
        bad = compare(given.simulator)
    else:
        with Simulator() as simulator:
            bad = compare(simulator.url)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
