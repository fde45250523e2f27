#!/usr/bin/env python3
"""Sends forms and JSON bodies that servers may read differently, with a key that may use one model of two.

    forms.py [--cases N] [--seed N]

It fails if an engine with Starlette and python-multipart (vLLM and SGLang use both) reads another model in a body than the
permitted one, or if the router refuses one of the usual bodies. Run it with `run`, which installs the servers.
"""

import argparse
import asyncio
import collections
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
AT_ONCE = 8
PATIENCE = 60

# Spellings of `model` and of names beside it, in forms.
NAMES = [
    b"model", b'"model"', b"<model>", b'"mod\\el"', b"model\x0c", b"model\xa0", b'"model"\x0b', b"'model'", b"x", b'"x"',
    b'"y; name=model; z="', b'"\\\\"', b'"\\""', b'"a\\\\\\""', b'"', b"", b'"+AG0AbwBkAGUAbA-"', b'"=?utf-8?q?model?="',
    b"(c)model", b"model(c)", b'"mo" "del"', b"model,x", b"utf-8''model", b"MODEL", b'"model\\"', b'"m\\odel"', b'"model;"',
    b"mod\\el", b"model\x1c", b'"mod%65l"',
]
KEYS = [b"name", b"NAME", b"name ", b"name*", b"name*0", b"name*1", b"x", b"filename", b"filename*", b'x"', b"name\x0c",
        b"\x0bname", b"", b"charset"]
SEPARATORS = [b"; ", b";", b" ; ", b";;", b",", b";\t", b" ", b";\x0c", b";\r\n "]
KINDS = [b"form-data", b"form-data", b"form-data", b"Form-Data", b"attachment", b"", b"form-data x", b'"form-data"']
FORM = b"multipart/form-data; boundary=b"
TYPES = [
    b'multipart/form-data; boundary="b"', FORM + b"; charset=utf-8", FORM + b"; charset=utf-7", FORM + b"; charset=utf-16",
    FORM + b"; charset=cp037", FORM + b'; x="\\\\"; boundary="c', b"multipart/form-data; boundary=<b>", FORM + b";",
    FORM + b", x", b'multipart/form-data; BOUNDARY=b; charset="ascii"', b"multipart/form-data;boundary=b\x0c",
    b"application/x-www-form-urlencoded", b"application/json",
]
FIELDS = [b"Content-Disposition", b"content-disposition", b"Content-Disposition ", b"X", b"Content-Type"]
VALUES = [b"other", b"other", b"m", b"", b"a\r\n--b-\r\nx", b"a\n--b\nContent-Disposition: form-data; name=model\n\nother"]
NOISE = b'"\\;= \t<>\x0b\x0c\x1c\x85\xa0\'()'

# Spellings of the member, and values, in JSON.
MEMBERS = ['"model"', '"mod\\u0065l"', '"\\u006dodel"', '"Model"', '"model "', '"m\\odel"', '"model\\u0000"', "'model'", "model",
           '"mo\\/del"', '"\\ud83dmodel"']
JSON_VALUES = ['"m"', '"other"', '"other"', '"\\u006d"', '"oth\\u0065r"', "null", "1", '["other"]', '{"model":"other"}', "NaN",
               '"m\\u0000"', '"m" ', "true"]


def disposition(chance):
    text = chance.choice(KINDS)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        key = chance.choice(KEYS) if chance.random() < 0.4 else b"name"
        text += (chance.choice(SEPARATORS) if chance.random() < 0.3 else b"; ") + key + b"=" + chance.choice(NAMES)
    if chance.random() < 0.2:
        at = chance.randrange(len(text) + 1)
        text = text[:at] + bytes([chance.choice(NOISE)]) + text[at:]
    return text


def part(chance):
    lines = [chance.choice(FIELDS) + b": " + disposition(chance) if chance.random() < 0.25
             else b"Content-Disposition: " + disposition(chance) for _ in range(chance.choice([1, 1, 1, 1, 2]))]
    line_end = chance.choice([b"\r\n"] * 6 + [b"\n", b" \r\n"])
    return line_end + b"\r\n".join(lines) + b"\r\n\r\n" + chance.choice(VALUES) + b"\r\n"


def form(chance):
    permitted = b'\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n'
    parts = [permitted] + [part(chance) for _ in range(chance.choice([1, 1, 2]))]
    if chance.random() < 0.3:
        chance.shuffle(parts)
    kind = chance.choice(TYPES) if chance.random() < 0.4 else FORM
    before = chance.choice([b"", b"", b"x\r\n", b"\r\n"])
    return kind, before + b"".join(b"--b" + each for each in parts) + b"--b--" + chance.choice([b"\r\n", b"", b"x"])


def hidden(kind, more):
    """A form with the permitted model, and another one in a part with this disposition."""
    first = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n'
    return kind, first + b"--b\r\nContent-Disposition: form-data" + more + b"\r\n\r\nother\r\n--b--\r\n"


def single_deviations():
    """Forms with one spelling that servers may read differently, or two that belong together."""
    forms = [hidden(kind, b"; name=" + name) for kind in [FORM] + TYPES for name in NAMES]
    forms += [hidden(FORM, between + key + b"=" + name) for key in KEYS for between in SEPARATORS for name in NAMES]
    forms += [hidden(FORM, b"; x=" + name + between + b'name="model"') for name in NAMES for between in SEPARATORS]
    forms += [hidden(FORM, b'; name="x"' + between + b"name=" + name) for name in NAMES for between in SEPARATORS]
    return forms


def documents():
    """JSON with a second member beside the permitted model, before and behind it, in several encodings."""
    return [(b"application/json", ("{" + pair.replace("MEMBER", f"{member}:{value}") + "}").encode(encoding))
            for member in MEMBERS for value in JSON_VALUES for pair in ('"model":"m",MEMBER', 'MEMBER,"model":"m"')
            for encoding in ("utf-8", "utf-16", "utf-32", "utf-8-sig")]


def document(chance):
    members = ['"model":"m"'] + [chance.choice(MEMBERS) + ":" + chance.choice(JSON_VALUES)
                                 for _ in range(chance.choice([1, 1, 2]))]
    if chance.random() < 0.5:
        chance.shuffle(members)
    text = "{" + ",".join(members) + chance.choice(["", "", "", ","]) + "}" + chance.choice(["", "", "", " x", "\x00", "//", "{}"])
    text = chance.choice(["", "", "", "\ufeff", " \n", "/**/", "\x0b"]) + text
    encoding = chance.choice(["utf-8"] * 5 + ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
    kind = chance.choice([b"application/json"] * 4 + [b"application/json; charset=utf-16", b"text/plain", b"application/x+json",
                                                        b"APPLICATION/JSON", b"multipart/form-data"])
    return kind, text.encode(encoding)


def usual():
    """Bodies that clients send, and that the router must forward."""
    sound = bytes(range(256)) * 40
    named = b'Content-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    curl = (b"--b\r\n" + named % (b"model", b"m") + b'--b\r\nContent-Disposition: form-data; name="file"; filename="a \\"b\\".wav"\r\n'
            b"Content-Type: audio/wav\r\n\r\n" + sound + b"\r\n--b--\r\n")
    encoded = (b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.wav"; filename*=utf-8\'\'%c3%a4.wav\r\n\r\n'
               + sound + b"\r\n--b\r\n" + named % (b"timestamp_granularities[]", b"word") + b"--b\r\n"
               + named % (b"model", b"m") + b"--b--")
    return [(FORM, curl), (b'multipart/form-data; boundary="b"', curl), (FORM + b"; charset=UTF-8", encoded),
            (b"application/json", b'{"model":"m","input":"\\u00e4"}'),
            (b"application/json; charset=utf-8", b' {"input":[{"model":"other"}],"model":"m"}')]


async def engine(models):
    """An engine that notes the model of each body as its frameworks read it."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def listed(_):
        return JSONResponse({"object": "list", "data": [{"id": each, "object": "model"} for each in models]})

    async def noted(request):
        try:
            # FastAPI reads a body without a type as JSON too, and so do proxies behind engines.
            if "form" in request.headers.get("content-type", "").lower():
                read = (await request.form()).get("model")
            else:
                read = (await request.json()).get("model")
        except Exception as e:  # an engine answers 400
            return JSONResponse({"error": str(type(e))}, status_code=400)
        return JSONResponse({"read": read if isinstance(read, str) else None, "served": True})

    async def healthy(_):
        return JSONResponse({})

    routes = [Route("/v1/models", listed), Route("/health", healthy), Route("/{path:path}", noted, methods=["POST"])]
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    print(f"serves at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(Starlette(routes=routes), log_level="critical", lifespan="off", timeout_keep_alive=600)
    await uvicorn.Server(config).serve(sockets=[listener])


def port_of(log, before):
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with open(log, encoding="utf-8", errors="replace") as file:
            found = re.search(before + r" (?:https?://)?[^ ,:]*:(\d+)", file.read())
        if found:
            return int(found.group(1))
        time.sleep(0.1)
    raise AssertionError(f"no port in {log}")


class Client(threading.Thread):
    """Sends its share of the cases, and counts what became of them."""

    def __init__(self, port, key, cases):
        super().__init__()
        self.port, self.key, self.cases = port, key, cases
        self.counts = collections.Counter()
        self.faults = []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        for path, kind, body, must_pass in self.cases:
            headers = {"Content-Type": kind, "Authorization": "Bearer " + self.key}
            try:
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                status, text = response.status, response.read()
            except (http.client.HTTPException, OSError, ValueError) as e:
                connection.close()
                status, text = type(e).__name__, b""
            read = json.loads(text).get("read") if status == 200 else None
            self.counts[f"status {status}"] += 1
            if read not in (None, "m"):
                self.faults.append(f"the engine reads the model {read!r}: {path} {kind!r} {body!r}")
            if must_pass and (status, read) != (200, "m"):
                self.faults.append(f"refused with {status} {text!r}: {path} {kind!r}")
        connection.close()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=10_000, help="number of random bodies beside the systematic ones")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--engine", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.engine:
        asyncio.run(engine(["m", "other"]))
        return
    chance = random.Random(arguments.seed)
    cases = [("/v1/audio/transcriptions", *each, True) for each in usual()[:3]]
    cases += [("/v1/embeddings", *each, True) for each in usual()[3:]]
    cases += [("/v1/audio/transcriptions", *each, False) for each in single_deviations()]
    cases += [("/v1/embeddings", *each, False) for each in documents()]
    for _ in range(arguments.cases):
        path, body = ("/v1/audio/transcriptions", form) if chance.random() < 0.7 else ("/v1/embeddings", document)
        cases.append((path, *body(chance), False))
    processes = []
    with tempfile.TemporaryDirectory() as directory:
        def start(name, command):
            log = os.path.join(directory, name + ".log")
            with open(log, "wb") as out:
                processes.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT))
            return log

        try:
            worker = port_of(start("engine", [sys.executable, "-B", __file__, "--engine"]), "serves at")
            keys = os.path.join(directory, "keys.yaml")
            made = subprocess.run(["./pointsman", "key", "create", "--name", "one", "--role", "client", "--models", "m", "--file", keys],
                                  cwd=ROOT, check=True, capture_output=True, text=True, timeout=PATIENCE)
            key = re.search(r"pmk-[A-Za-z0-9_-]+", made.stdout).group()
            router = port_of(start("router", ["./pointsman", "serve", "--port", "0", "--admin-port", "0", "--metrics-port", "0",
                                               "--workers", f"http://127.0.0.1:{worker}", "--auth-keys-file", keys]), "listens on")
            time.sleep(2)
            clients = [Client(router, key, cases[each::AT_ONCE]) for each in range(AT_ONCE)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        finally:
            for process in processes:
                process.send_signal(signal.SIGTERM)
            for process in processes:
                process.wait(30)
    counts = sum((client.counts for client in clients), collections.Counter())
    faults = [fault for client in clients for fault in client.faults]
    print(f"{len(cases)} bodies: " + ", ".join(f"{each} {counts[each]}" for each in sorted(counts)))
    for fault in faults[:10]:
        print(fault)
    assert counts["status 200"] > len(cases) / 100, "hardly any body reached the engine"
    sys.exit(f"forms: {len(faults)} bodies show the engine another model, or were refused" if faults else 0)


if __name__ == "__main__":
    main()
