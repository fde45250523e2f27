"""Sends the requests of cases.py to uvicorn (h11 and httptools), directly, through HAProxy and through the router.

    differential.py [--table] [--paths N] [--heads N] [--router COMMAND]

Run it with `run`, which installs the servers. It fails if
  - a spelling of a closed path reaches an engine's control path through the router;
  - the router sends bytes to an engine that are not in the one strict form of HTTP/1.1, or that an engine's parser
    reads as other requests or other bodies;
  - the router reads another request or body in a client's bytes than an engine's parser does;
  - the router accepts a head that neither parser nor HAProxy accepts;
  - a header arrives that clients must not set, or the client's key is exchanged or repeated.
--table prints where the servers differ, as in docs/evidence/attacks.md. --paths and --heads are the numbers of random
combinations.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import app
import cases

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(ROOT, "docs", "reference", "api.md")
PARSERS = ("h11", "httptools")
WAYS = ("direct", "haproxy", "router")
OPERATOR = "operator-key"
# A connection without an answer waits for more bytes, because it read an incomplete request. A server that is busy for
# longer gives fewer requests to compare, never a false difference.
SILENCE = 1.0
AT_ONCE = 48

# The name of a case on its way to a parser: its number, the way, the parser.
MARK = re.compile("[0-9]{6}[dhr][1t]")
TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
ROUTER_ID = re.compile("[0-9a-f]{16}")
# Headers that only routers set, or that end at each hop.
FORBIDDEN = re.compile(
    "x-pointsman-|x-serve-router-|x-prefiller-|x-kv-|x-data-parallel-|x-encoder-host|x-gateway-destination-endpoint|"
    "forwarded$|x-forwarded-(?!for$|proto$)|http2-settings$|upgrade$|te$|trailer$|keep-alive$|expect$|"
    "proxy-connection$|proxy-authorization$")


class Tap:
    """A server between the router and an engine that keeps the bytes of each connection."""

    def __init__(self, port):
        self.port = port
        self.connections = []

    async def start(self):
        server = await asyncio.start_server(self.accept, "127.0.0.1", 0, backlog=512)
        return server.sockets[0].getsockname()[1]

    async def accept(self, reader, writer):
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.port)
        kept = bytearray()
        self.connections.append(kept)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self.copy(reader, up_writer, kept), self.copy(up_reader, writer, bytearray()))

    @staticmethod
    async def copy(reader, writer, kept):
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                kept += data
                writer.write(data)
                await writer.drain()
        writer.close()


class NotStrict(Exception):
    pass


def strict(data):
    """The complete requests in the router's bytes: mark of the case, method, target, body.

    They have one form only. Raises NotStrict for another form.
    """
    at = 0
    requests = []
    while at < len(data):
        end = data.find(b"\r\n\r\n", at)
        if end < 0:
            return requests
        lines = bytes(data[at:end]).split(b"\r\n")
        if any(re.search(rb"[\r\n\0]", line) for line in lines):
            raise NotStrict(f"a bare CR, LF or NUL in {lines}")
        first = re.fullmatch(rb"([!-~]+) ([!-~]+) HTTP/1\.1", lines[0])
        if not first or not TOKEN.fullmatch(first[1]):
            raise NotStrict(f"request line {lines[0]}")
        length, chunked = None, False
        for line in lines[1:]:
            name, colon, value = line.partition(b":")
            if not colon or not TOKEN.fullmatch(name):
                raise NotStrict(f"header line {line}")
            name, value = name.lower(), value.strip(b" \t")
            if name == b"content-length":
                if length is not None or not re.fullmatch(rb"[0-9]+", value):
                    raise NotStrict(f"length {lines}")
                length = int(value)
            elif name == b"transfer-encoding":
                if chunked or value != b"chunked":
                    raise NotStrict(f"coding {lines}")
                chunked = True
        if chunked and length is not None:
            raise NotStrict(f"length and coding {lines}")
        at = end + 4
        body = bytes(data[at:at + (length or 0)])
        if chunked:
            body, at = strict_chunks(data, at)
        else:
            at += length or 0
        if at is None or at > len(data):
            return requests
        mark = MARK.search(b"\n".join(lines).decode("latin1"))
        requests.append((mark and mark[0], first[1].decode(), first[2].decode(), body.decode("latin1")))
    return requests


def strict_chunks(data, at):
    """The body and the index after it; None as index if it is incomplete."""
    body = b""
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            return body, None
        if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", bytes(data[at:end])):
            raise NotStrict(f"chunk size {bytes(data[at:end])}")
        size = int(data[at:end], 16)
        at = end + 2
        if len(data) < at + size + 2:
            return body, None
        if data[at + size:at + size + 2] != b"\r\n":
            raise NotStrict("end of a chunk, or a trailer")
        body += data[at:at + size]
        at += size + 2
        if size == 0:
            return body, at


class Programs:
    """The servers, each a process."""

    def __init__(self, directory):
        self.directory = directory
        self.all = []

    def start(self, name, command):
        log = os.path.join(self.directory, name + ".log")
        with open(log, "wb") as out:
            self.all.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT))
        return log

    def port(self, log, before):
        """The port in the first URL behind a text of a log."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with open(log, encoding="utf-8", errors="replace") as file:
                text = file.read()
            found = re.search(before + r" https?://[^ ,:]*:(\d+)", text)
            if found:
                return int(found[1])
            time.sleep(0.05)
        sys.exit(f"no server:\n{text}")

    def stop(self):
        for each in self.all:
            each.send_signal(signal.SIGTERM)
        for each in self.all:
            each.wait()


async def answers(port, data):
    """Sends bytes; True if the server closed the connection, False if it was silent until the client closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        while await asyncio.wait_for(reader.read(65536), SILENCE):
            pass
        return True
    except asyncio.TimeoutError:
        return False
    except ConnectionError:
        return True
    finally:
        writer.transport.abort()


async def send_all(port, way, parser, every):
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number, case):
        name = f"{number:06d}{way[0]}{parser[1]}".encode()
        async with at_once:
            await answers(port, case.data.replace(cases.ID, name))

    await asyncio.gather(*(one(number, case) for number, case in enumerate(every)))


async def ready(port):
    for _ in range(1200):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /v1/models HTTP/1.1\r\nHost: router\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
            if b'"m"' in answer:
                return
        await asyncio.sleep(0.1)
    sys.exit(f"port {port} did not become ready")


def router_file(directory, parser, tap):
    path = os.path.join(directory, f"router-{parser}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        # Refusals of engines must not take the only worker away.
        file.write(f"""
listen: {{port: 0}}
admin: {{port: 0}}
metrics: {{port: 0}}
workers: ["http://127.0.0.1:{tap}"]
api-key: {OPERATOR}
retry: {{enabled: false}}
breaker: {{enabled: false}}
""")
    return path


def haproxy_file(directory, fronts, engines):
    path = os.path.join(directory, "haproxy.cfg")
    with open(path, "w", encoding="utf-8") as file:
        file.write("defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n")
        for parser in PARSERS:
            file.write(f"listen {parser}\n  bind 127.0.0.1:{fronts[parser]}\n  server engine 127.0.0.1:{engines[parser]}\n")
    return path


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def records(directory, parser):
    with open(os.path.join(directory, f"records-{parser}"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Judge:
    """Compares the requests that the engines' applications saw. Each carries the name of its case."""

    def __init__(self, every, directory, taps):
        self.every = every
        self.taps = taps
        self.faults = []
        # By way and parser: the requests of a case by its number.
        self.seen = {(way, parser): collections.defaultdict(list) for way in WAYS for parser in PARSERS}
        self.unread = 0
        for parser in PARSERS:
            for each in records(directory, parser):
                self.add(parser, each)

    def add(self, parser, record):
        mark = MARK.search(record["target"] + "\n" + "\n".join(value for _, value in record["headers"]))
        if mark:
            way = next(each for each in WAYS if each[0] == mark[0][6])
            record["mark"] = mark[0]
            self.seen[way, parser][int(mark[0][:6])].append(record)
        elif not self.own(record):
            self.fault("a request of no case", parser, None, record)

    @staticmethod
    def own(record):
        """True for a probe of the router, and for the questions of `ready`."""
        return ["user-agent", "pointsman"] in record["headers"] or record["target"] == "/v1/models?"

    def fault(self, kind, parser, number, what):
        case = self.every[number] if number is not None else None
        self.faults.append((kind, parser, case.family if case else "", what, case.data if case else b""))

    def judge(self):
        for parser in PARSERS:
            self.wire(parser)
            for number, requests in self.seen["router", parser].items():
                self.arrived(parser, number, requests)

    def wire(self, parser):
        """The bytes from the router are strict, and the application saw no other requests than those in them."""
        sent = collections.Counter()
        for data in self.taps[parser].connections:
            try:
                sent.update((mark, method, as_read(target), body) for mark, method, target, body in strict(data) if mark)
            except NotStrict as e:
                self.fault("not strict", parser, None, str(e))
        read = collections.Counter((each["mark"], each["method"], as_read(each["target"]), each["body"])
                                   for requests in self.seen["router", parser].values() for each in requests)
        for each in read - sent:
            known = [other[1:] for other in sent if other[0] == each[0]]
            self.fault("read differently by the engine", parser, int(each[0][:6]), f"read {each[1:]}, sent {known}")
        # An engine may refuse a request, for example one with an unknown method.
        self.unread += (sent - read).total()

    def arrived(self, parser, number, requests):
        for each in requests:
            if each["route"] == "control":
                self.fault("control path", parser, number, f"{each['method']} {each['target']}")
            self.headers(parser, number, each)
        direct = [self.seen["direct", each].get(number, []) for each in PARSERS]
        haproxy = [self.seen["haproxy", each].get(number, []) for each in PARSERS]
        for part in ("own", "probe", "smuggled"):
            ours = [each for each in requests if part_of(each) == part]
            theirs = [[each for each in found if part_of(each) == part] for found in direct]
            if not ours:
                continue
            if len(ours) > 1:
                self.fault("sent more than once", parser, number, ours)
            if not any(theirs):
                # A probe behind a request that the others ended the connection for is no fault.
                if part != "probe" and not any(part_of(each) == part for found in haproxy for each in found):
                    kind = "smuggled" if part == "smuggled" else "accepted by the router alone"
                    self.fault(kind, parser, number, ours[0])
                continue
            # The two parsers read some cases differently; the router then reads it as one of them.
            if not any(same_request(ours[0], each) for found in theirs for each in found):
                self.fault("the router reads another request", parser, number, (ours[0], theirs))
            keys = [[value for name, value in each["headers"] if name == "authorization"] for found in theirs for each in found]
            own = [value for name, value in ours[0]["headers"] if name == "authorization"]
            # A parser that takes trailers for headers shows a key that the client did not send as one.
            if all(keys) and own not in keys:
                self.fault("the client's key was exchanged", parser, number, (own, keys))

    def headers(self, parser, number, record):
        names = [name for name, _ in record["headers"]]
        for name, value in record["headers"]:
            own = name in ("x-forwarded-for", "x-real-ip") and value != "127.0.0.1"
            # The router adds its own id, and no case has one.
            added = (name, value) == ("upgrade", "websocket") or name == "x-pointsman-via" and ROUTER_ID.fullmatch(value)
            if FORBIDDEN.match(name) and not added or own:
                self.fault("forbidden header", parser, number, f"{name}: {value}")
        for name in ("host", "authorization", "x-api-key", "x-forwarded-for", "x-pointsman-via", "content-length", "transfer-encoding"):
            if names.count(name) > 1:
                self.fault("repeated header", parser, number, name)

    def passes(self, way, parser, number):
        """True if the application saw the case's own request."""
        return any(not each["target"].startswith("/probe") for each in self.seen[way, parser].get(number, []))

    def control(self, way, parser):
        return sum(any(each["route"] == "control" for each in requests) for requests in self.seen[way, parser].values())

    def table(self):
        counts = collections.defaultdict(collections.Counter)
        for number, case in enumerate(self.every):
            row = counts[case.family]
            row["cases"] += 1
            router = any(self.passes("router", parser, number) for parser in PARSERS)
            row["router"] += router
            for parser in PARSERS:
                row[parser] += self.passes("direct", parser, number)
            haproxy = any(self.passes("haproxy", parser, number) for parser in PARSERS)
            row["haproxy"] += haproxy
        return counts


def part_of(record):
    """The request of a case that a record is about: its own, the probe behind it, or one that is part of its body."""
    return next((part for part in ("probe", "smuggled") if record["target"].startswith(f"/{part}?")), "own")


def as_read(target):
    """A target without the difference between no query and an empty one, which the application does not see."""
    path, _, query = target.partition("?")
    return f"{path}?{query}"


def same_request(ours, theirs):
    return (ours["method"], without_marks(ours["body"])) == (theirs["method"], without_marks(theirs["body"]))


def without_marks(body):
    """A body without the names of its case, which differ by the way."""
    return MARK.sub("", body)


async def run(options, directory, programs):
    closed = [path.replace("{name}", "a") for path in app.control_paths(PAGE)] + ["/metrics", "/metrics/x", "/metricsx"]
    every = list(dict.fromkeys([*cases.paths(closed, options.paths), *cases.heads(options.heads)]))
    engines, taps, routers = {}, {}, {}
    for parser in PARSERS:
        log = programs.start(f"engine-{parser}", [sys.executable, os.path.join(HERE, "app.py"), parser,
                                                  os.path.join(directory, f"records-{parser}"), PAGE])
        engines[parser] = programs.port(log, "serves at")
        taps[parser] = Tap(engines[parser])
        tap = await taps[parser].start()
        log = programs.start(f"router-{parser}", [options.router, "serve", "--config", router_file(directory, parser, tap)])
        routers[parser] = log
    fronts = dict(zip(PARSERS, free_ports(2)))
    programs.start("haproxy", ["haproxy", "-db", "-f", haproxy_file(directory, fronts, engines)])
    for parser in PARSERS:
        routers[parser] = await asyncio.to_thread(programs.port, routers[parser], "listens on")
    ports = {"direct": engines, "haproxy": fronts, "router": routers}
    for way in WAYS:
        for parser in PARSERS:
            await ready(ports[way][parser])
    for way in WAYS:
        began = time.monotonic()
        await asyncio.gather(*(send_all(ports[way][parser], way, parser, every) for parser in PARSERS))
        print(f"{way}: {len(every)} cases for each parser in {time.monotonic() - began:.0f} s", flush=True)
    programs.stop()
    judge = Judge(every, directory, taps)
    judge.judge()
    return judge


def report(judge, table):
    if table:
        print("| requests | cases | h11 | httptools | HAProxy | router |\n|---|---|---|---|---|---|")
        for family, row in judge.table().items():
            print(f"| {family} | {row['cases']} | {row['h11']} | {row['httptools']} | {row['haproxy']} | {row['router']} |")
    for way in WAYS:
        print(f"control paths reached, {way}: " + ", ".join(f"{parser} {judge.control(way, parser)}" for parser in PARSERS))
    kinds = collections.Counter((kind, family) for kind, _, family, _, _ in judge.faults)
    for (kind, family), count in kinds.items():
        print(f"FAILS  {kind} ({family}): {count}")
        for _, parser, _, what, data in [each for each in judge.faults if (each[0], each[2]) == (kind, family)][:3]:
            print(f"       {parser}: {str(what)[:600]}\n       {data[:300]}")
    # Without these the comparison shows nothing.
    vacuous = [parser for parser in PARSERS if judge.control("direct", parser) < 100 or len(judge.seen["router", parser]) < 1000]
    for parser in vacuous:
        print(f"FAILS  {parser}: hardly any case reached the application")
    print(f"requests that an engine refused: {judge.unread}")
    if not judge.faults and not vacuous:
        print("ok     no closed path, no other reading, no forbidden header came through the router")
    return bool(judge.faults or vacuous)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--router", default="./pointsman", help="command of the router")
    parser.add_argument("--paths", type=int, default=2000)
    parser.add_argument("--heads", type=int, default=2500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        programs = Programs(directory)
        try:
            judge = asyncio.run(run(options, directory, programs))
        finally:
            programs.stop()
        return report(judge, options.table)


if __name__ == "__main__":
    sys.exit(main())
