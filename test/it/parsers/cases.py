"""Raw requests whose paths and heads servers may read differently. The seed is fixed, so each run has the same ones.

A case is bytes with the mark ID in place of its number, which is as long. `paths` are spellings of closed paths, `heads` are heads and
bodies, each followed by a second request to `/probe`. A text `/smuggled` is always part of a body or of a value: a server
that reads a request there reads other borders between requests.
"""

import itertools
import random
from typing import NamedTuple

ID = b"@caseid@"
FIRST = b"/echo?" + ID
PROBE = b"GET /probe?" + ID + b" HTTP/1.1\r\nHost: router\r\nX-Case: " + ID + b"\r\nConnection: close\r\n\r\n"
SMUGGLED = b"GET /smuggled?" + ID + b" HTTP/1.1\r\nHost: router\r\nX-Case: " + ID + b"\r\n\r\n"


class Case(NamedTuple):
    family: str
    data: bytes


def encode_one(path, chance):
    at = chance.randrange(1, len(path))
    code = f"%{ord(path[at]):02x}" if chance.random() < 0.5 else f"%{ord(path[at]):02X}"
    return path[:at] + code + path[at + 1:]


def encode_all(path, chance):
    return "".join(each if each == "/" else f"%{ord(each):02x}" for each in path)


def encode_slash(path, chance):
    return "/" + path[1:].replace("/", "%2f") if "/" in path[1:] else path + "%2F"


def overlong(path, chance):
    """A character in two or three bytes of UTF-8 that a strict decoder refuses."""
    at = chance.randrange(0, len(path))
    code = ord(path[at])
    two = f"%{0xC0 | code >> 6:02x}%{0x80 | code & 0x3F:02x}"
    three = f"%e0%{0x80 | code >> 6:02x}%{0x80 | code & 0x3F:02x}"
    return path[:at] + (two if chance.random() < 0.5 else three) + path[at + 1:]


def wide(path, chance):
    """A letter of full width, which compatibility forms of Unicode map to ASCII."""
    at = chance.randrange(1, len(path))
    code = chr(0xFF00 + ord(path[at]) - 0x20).encode()
    return path[:at] + "".join(f"%{byte:02X}" for byte in code) + path[at + 1:]


def raw_byte(path, chance):
    return path + chance.choice(["\x80", "\xff", "\xc0\xaf", "\xa0", "\x85"])


def some_case(path, chance):
    return "".join(each.upper() if each.isascii() and chance.random() < 0.5 else each for each in path)


def parameters(path, chance):
    at = chance.choice([i for i, each in enumerate(path + "/") if i and each == "/"])
    return path[:at] + chance.choice([";", ";x", ";x=y", ";/", "%3b", "%3Bx"]) + path[at:]


def fixed(*texts):
    return lambda path, chance: chance.choice(texts).replace("PATH", path).replace("REST", path[1:])


SPELLINGS = {
    "as it is": fixed("PATH"),
    "one character encoded": encode_one,
    "all characters encoded": encode_all,
    "encoded slash": encode_slash,
    "encoded twice": lambda path, chance: encode_one(path, chance).replace("%", "%25"),
    "incomplete code": fixed("PATH%", "PATH%2", "PATH%zz", "/%REST", "PATH%u0000", "PATH%-1"),
    "slashes": fixed("/PATH", "//PATH", "PATH/", "PATH//", "/%2fREST", "/REST%2f/"),
    "dots": fixed("/.PATH", "/x/..PATH", "/./.PATH", "PATH/.", "PATH/..", "PATH/x/..", "/..PATH", "/...PATH", "PATH.", "/v1/x/../..PATH"),
    "encoded dots": fixed("/%2ePATH", "/x/%2e%2ePATH", "/x/%2E.PATH", "/x/.%2e%2fREST", "PATH/%2e", "PATH%2e", "/%252e%252ePATH"),
    "backslashes": fixed("\\REST", "/\\REST", "/x\\..PATH", "/x/..\\REST", "/%5cREST", "/x%5c..%5cREST", "PATH\\"),
    "parameters": parameters,
    "dots and parameters": fixed("/x/..;/REST", "/x/..;a=bPATH", "/;/REST", "/.;/REST", "/x;/..PATH", "/x/%2e%2e%3b/REST"),
    "upper case": some_case,
    "fragment": fixed("PATH#", "PATH#f", "/#PATH", "/x#/..PATH", "PATH%23", "PATH%23f"),
    "query": fixed("PATH?", "PATH??", "/x?/..PATH", "PATH%3f", "PATH%3fx", "?PATH"),
    "control characters": fixed("PATH%00", "PATH%0a", "PATH%0d", "PATH%0d%0a", "PATH%09", "/%00REST", "PATH%7f", "PATH%0A?", "PATH\x00", "PATH\x7f",
                                "PATH\x0b", "PATH\x01"),
    "spaces": fixed("PATH%20", "/%20REST", "PATH+", " PATH", "PATH ", "PATH\t", "\tPATH", "PATH%c2%a0", "PATH%e2%80%a8"),
    "overlong UTF-8": overlong,
    "wide letters": wide,
    "bytes beyond ASCII": raw_byte,
    "complete URL": fixed("http://xPATH", "HTTP://xPATH", "https://x:1PATH", "http://xPATH/", "http://x/.PATH", "http://PATH", "http:/PATH", "http:PATH",
                          "ftp://xPATH", "//xPATH", "http://x@yPATH", "http://x/x/..PATH", "http://x?PATH", "http://x#PATH", "http://x\\REST",
                          "http://[::1]PATH", "http://x:PATH", "http://x/%2e%2ePATH", "ws://xPATH", "http:///REST", "http://x%2fREST"),
    "no path": fixed("REST", "*", "*PATH", "x:80", "./REST", "../REST", "%2fREST", ":PATH", "@xPATH"),
}
METHODS = ["GET", "POST", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "CONNECT", "TRACE", "PATCH", "get", "Post", "QUERY"]


def path_case(family, target, method):
    query = "" if "?" in target else "?"
    data = f"{method} {target}{query}".encode("latin1") + ID + b" HTTP/1.1\r\nHost: router\r\nX-Case: " + ID
    return Case(family, data + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")


def paths(closed, combinations):
    """Each spelling of each closed path, then combinations of two spellings."""
    chance = random.Random(20261127)
    for path, (family, spell) in itertools.product(closed, SPELLINGS.items()):
        yield path_case(family, spell(path, chance), chance.choice(METHODS[:3]))
    names = list(SPELLINGS)
    for _ in range(combinations):
        target = chance.choice(closed)
        for name in chance.choices(names, k=2):
            if len(target) > 1:
                target = SPELLINGS[name](target, chance)
        yield path_case("two of these", target, chance.choice(METHODS))


# Request lines. METHOD, TARGET and VERSION are replaced.
LINES = {
    "versions": [b"METHOD TARGET HTTP/1.0", b"METHOD TARGET HTTP/0.9", b"METHOD TARGET", b"METHOD TARGET HTTP/1.2", b"METHOD TARGET HTTP/2.0",
                 b"METHOD TARGET http/1.1", b"METHOD TARGET HTTP/01.1", b"METHOD TARGET HTTP/1.10", b"METHOD TARGET HTTP/1.", b"METHOD TARGET HTTP/11",
                 b"METHOD TARGET HTTPS/1.1", b"METHOD TARGET HTTP /1.1", b"METHOD TARGET HTTP/1.1 ", b"METHOD TARGET ICY/1.1", b"METHOD TARGET RTSP/1.0",
                 b"METHOD TARGET HTTP/1,1", b"METHOD TARGET HTTP/1.1\t", b"PRI * HTTP/2.0"],
    "white space in the request line": [b" METHOD TARGET HTTP/1.1", b"METHOD  TARGET HTTP/1.1", b"METHOD TARGET  HTTP/1.1", b"METHOD\tTARGET HTTP/1.1",
                                        b"METHOD TARGET\tHTTP/1.1", b"METHOD TARGET x HTTP/1.1", b"METHOD\x0bTARGET HTTP/1.1", b"METHOD TARGET\x0cHTTP/1.1",
                                        b"\r\nMETHOD TARGET HTTP/1.1", b"\r\n\r\nMETHOD TARGET HTTP/1.1", b"\nMETHOD TARGET HTTP/1.1", b"\rMETHOD TARGET HTTP/1.1",
                                        b"\x00METHOD TARGET HTTP/1.1", b"\xef\xbb\xbfMETHOD TARGET HTTP/1.1"],
    "methods": [b"get TARGET HTTP/1.1", b"G\x00ET TARGET HTTP/1.1", b"G\xc3\xa9T TARGET HTTP/1.1", b"(GET) TARGET HTTP/1.1", b"CONNECT TARGET HTTP/1.1",
                b"CONNECT router:80 HTTP/1.1", b"TRACE TARGET HTTP/1.1", b"OPTIONS * HTTP/1.1", b"GET * HTTP/1.1", b"QUERY TARGET HTTP/1.1",
                b"METHODMETHODMETHOD TARGET HTTP/1.1", b"M-SEARCH TARGET HTTP/1.1", b"PROPFIND TARGET HTTP/1.1", b"METHOD: TARGET HTTP/1.1", b"TARGET HTTP/1.1"],
    "huge lines": [b"METHOD TARGET" + b"a" * size + b" HTTP/1.1" for size in (4000, 8100, 9000, 17000, 66000)],
}

# Header lines beside the usual ones.
HEADERS = {
    "lengths": [b"Content-Length: LEN\r\nContent-Length: LEN", b"Content-Length: LEN\r\nContent-Length: 0", b"Content-Length: 0\r\nContent-Length: LEN",
                b"Content-Length: LEN, LEN", b"Content-Length: LEN, 0", b"Content-Length: +LEN", b"Content-Length: -LEN", b"Content-Length: 0xLEN",
                b"Content-Length: 00LEN", b"Content-Length:", b"Content-Length: ", b"Content-Length: LEN;x", b"Content-Length: LEN x", b"Content-Length: LEN.0",
                b"Content-Length: 1e1", b"Content-Length: \xb2", b"Content-Length: 18446744073709551617", b"Content-Length: 99999999999999999999",
                b"Content-Length: 4294967296", b"Content-Length: \x0bLEN", b"Content-Length: LEN\x0c", b"Content-Length: \xa0LEN", b"Content-Length:LEN",
                b"Content-Length:\tLEN\t", b"Content-Length: 1_0", b"Content-Length: ,LEN", b"Content-Length: LEN,", b"content-length: LEN",
                b"Content_Length: LEN", b"Content-Length\x00: LEN", b"Content-Length: LEN\x00", b"Content-Length: 0\r\nContent_Length: LEN",
                b"Content-Length: \"LEN\"", b"Content-Length : LEN", b"Content-Length\t: LEN", b" Content-Length: LEN", b"Content-Length: 3\r\n 0"],
    "length and coding": [b"Content-Length: LEN\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: LEN",
                          b"Content-Length: LEN\r\nTransfer-Encoding: identity", b"Content-Length: LEN\r\nTransfer-Encoding: x",
                          b"Content-Length: LEN\r\nTransfer-Encoding:", b"Content-Length: LEN\r\nTransfer-Encoding : chunked",
                          b"Content-Length: LEN\r\nTransfer_Encoding: chunked", b"Content-Length: LEN\r\n Transfer-Encoding: chunked",
                          b"Content-Length: LEN\r\nX: y\r\n Transfer-Encoding: chunked", b"Content-Length: LEN\r\nX: y\nTransfer-Encoding: chunked",
                          b"Content-Length: LEN\r\nX: y\rTransfer-Encoding: chunked", b"Content-Length: LEN\r\nTransfer-Encoding\r\n : chunked",
                          b"Content-Length: LEN\r\nTransfer-Encoding\x00: chunked", b"Content-Length: LEN\r\nX: y\x00\r\nTransfer-Encoding: chunked",
                          b"Content-Length: LEN\r\n: x\r\nTransfer-Encoding: chunked", b"Content-Length: LEN\r\nTransfer-Encoding: \x0bchunked",
                          b"Content-Length: LEN\r\nConnection: content-length", b"Content-Length: LEN\r\nConnection: Content-Length, close",
                          b"Transfer-Encoding: chunked\r\nConnection: transfer-encoding"],
    "codings": [b"Transfer-Encoding: chunked", b"Transfer-Encoding: Chunked", b"Transfer-Encoding:chunked", b"Transfer-Encoding: chunked\t",
                b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: chunked, identity",
                b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: chunked, gzip", b"Transfer-Encoding: gzip",
                b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
                b"Transfer-Encoding: xchunked", b"Transfer-Encoding: chunkedx", b"Transfer-Encoding: chunked;q=1", b"Transfer-Encoding: \"chunked\"",
                b"Transfer-Encoding: ,chunked", b"Transfer-Encoding: chunked,", b"Transfer-Encoding: chun\r\n ked", b"Transfer-Encoding:\r\n chunked",
                b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: chunked\x0c", b"Transfer-Encoding: chunked\xa0", b"Transfer-Encoding: chunked\x00",
                b"Transfer-Encoding: cHUNKED\r\nTE: trailers", b"X: y\rTransfer-Encoding: chunked", b"\x00Transfer-Encoding: chunked",
                b"Transfer-Encoding : chunked", b"Transfer-encoding\t:chunked", b"Transfer-Encoding: chun\xe2\x84\xaaed"],
    "folded and broken lines": [b"X-A: a\r\n b", b"X-A: a\r\n\tb", b"X-A:\r\n b", b" X-A: a", b"X-A: a\n b", b"X-A: a\nX-B: b", b"X-A: a\rX-B: b", b"X-A: a\r\r\nX-B: b",
                                b"X-A: a\r\n\x0bX-B: b", b"X-A: a\n\r\nX-B: b", b"X-A: a\n\nX-B: b", b"X-A: a\r\n\rX-B: b", b"X-A", b"X A: a", b": a", b":", b"X-A\r\n: a",
                                b"X-A : a", b"X-A\t: a", b"X(A): a", b"X\xe9: a", b"X-A: a\x00b", b"X-A: a\x01b", b"X-A: a\x7fb", b"X-A: \xff\xfe", b"X-A: a\x1bb",
                                b"X\x00A: a", b"X-A:: a", b"X-A: GET /smuggled?@caseid@ HTTP/1.1", b"\xe2\x80\xa8X: a", b"X-A: a\x85X-B: b",
                                b"X-A: a\r\n GET /smuggled?@caseid@ HTTP/1.1\r\n Host: x"],
    "keys": [b"Authorization: Bearer client\r\nAuthorization: Bearer other", b"Authorization: Bearer client", b"authorization: Bearer client\r\nAUTHORIZATION: Bearer client",
             b"Authorization: Bearer client\r\nConnection: authorization", b"Authorization: Bearer client\r\nConnection: close, Authorization",
             b"Authorization: Bearer client\r\nConnection: \"authorization\"", b"Authorization: Bearer client\r\nConnection: x\r\nConnection: authorization",
             b"Authorization : Bearer client", b"Authorization:\r\n Bearer client", b"Authorization: Bearer\r\n client", b"X: y\nAuthorization: Bearer client",
             b"X-Api-Key: client\r\nX-Api-Key: other", b"X-Api-Key: client\r\nConnection: x-api-key", b"Proxy-Authorization: Bearer client", b"Authorization:",
             b"Authorization: Bearer client, Bearer other", b"Authorization\x00: Bearer client"],
    "hosts": [b"Host: other", b"host: router", b"Host:", b"X-Host: other", b"Connection: host", b"Host : other", b"Host: a b", b"Host: router\r\n other", b"Host: a/../b", b"Host: a,b"],
    "headers of routers": [b"X-Forwarded-For: 8.8.8.8", b"x-forwarded-FOR: 8.8.8.8\r\nX-Forwarded-For: 9.9.9.9", b"Forwarded: for=8.8.8.8", b"X-Real-IP: 8.8.8.8",
                           b"X-Forwarded-Host: evil", b"X-Forwarded-Prefix: /sleep", b"X-Forwarded-Proto: https", b"x-prefiller-host-port: evil:1", b"X-KV-Transfer: evil",
                           b"X-data-parallel-rank: 7", b"X-Data-Parallel-Host-Port: evil:1", b"X-Pointsman-Worker: evil", b"x-pointsman-request-id: evil",
                           b"X-Encoder-Host: evil", b"X-Gateway-Destination-Endpoint: evil", b"x-serve-router-x: evil",
                           b"X-Forwarded-For: 8.8.8.8\r\nConnection: x-forwarded-for", b"X-Pointsman-Worker : evil", b"X-Original-URL: /sleep", b"X-Rewrite-URL: /sleep",
                           b"X-HTTP-Method-Override: DELETE", b"X-Forwarded-For: 8.8.8.8\r\n , 9.9.9.9", b"X-Real-IP:8.8.8.8", b"Via: 1.1 evil"],
    "connection": [b"Connection: x", b"Connection: close", b"Connection: keep-alive", b"Connection: close, keep-alive", b"Connection: upgrade", b"Connection:", b"Connection: ,,,",
                   b"Connection: x-case", b"Connection: cookie\r\nCookie: a=b", b"Connection: te\r\nTE: trailers", b"Proxy-Connection: close", b"Keep-Alive: timeout=1",
                   b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA", b"Upgrade: h2c", b"Connection: upgrade\r\nUpgrade: h2c",
                   b"Connection: Upgrade\r\nUpgrade: TLS/1.0", b"Connection: Upgrade\r\nUpgrade: websocket", b"HTTP2-Settings: AAMAAABk",
                   b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                   b"Connection: " + b",".join([b"x-a"] * 40), b"Trailer: Content-Length", b"TE: chunked"],
    "expectations": [b"Expect: 100-continue", b"Expect: 100-Continue", b"Expect: x", b"Expect: 100-continue, x", b"Expect:", b"Expect: 100-continue\r\nExpect: 100-continue",
                     b"Expect : 100-continue"],
    "huge heads": [b"X-A: " + b"a" * size for size in (8000, 17000, 40000, 70000)] + [b"\r\n".join([b"X-%d: a" % i for i in range(count)]) for count in (90, 150, 900, 1100)],
}


def chunk(data, size=b"%x"):
    return size % len(data) + b"\r\n" + data + b"\r\n"


# Bodies in chunks. The last one of a list of chunks ends the body for a strict reader.
CHUNKS = {
    "chunks": [chunk(b"{}") + b"0\r\n\r\n", chunk(SMUGGLED) + b"0\r\n\r\n", b"0\r\n\r\n", chunk(b"{") + chunk(b"}") + b"0\r\n\r\n"],
    "chunk sizes": [b"02\r\n{}\r\n0\r\n\r\n", b"000000000000002\r\n{}\r\n0\r\n\r\n", b"0000000000000000000000002\r\n{}\r\n0\r\n\r\n", b"+2\r\n{}\r\n0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"0x2\r\n{}\r\n0\r\n\r\n",
                    b"2 \r\n{}\r\n0\r\n\r\n", b" 2\r\n{}\r\n0\r\n\r\n", b"\t2\r\n{}\r\n0\r\n\r\n", b"2_0\r\n{}\r\n0\r\n\r\n", b"\r\n2\r\n{}\r\n0\r\n\r\n", b"2g\r\n{}\r\n0\r\n\r\n", b"\xb2\r\n{}\r\n0\r\n\r\n",
                    b"100000002\r\n{}\r\n0\r\n\r\n", b"10000000000000002\r\n{}\r\n0\r\n\r\n", b"ffffffffffffffff\r\n{}\r\n0\r\n\r\n", b"2\x00\r\n{}\r\n0\r\n\r\n", b"\r\n\r\n", b"2\r\n{}\r\n-0\r\n\r\n",
                    b"2\r\n{}\r\n00\r\n\r\n", b"2\r\n{}\r\n0x0\r\n\r\n", b"2\r\n{}\r\n0 \r\n\r\n"],
    "ends of chunks": [b"2\n{}\n0\n\n", b"2\r\n{}\n0\r\n\r\n", b"2\n{}\r\n0\r\n\r\n", b"2\r{}\r\n0\r\n\r\n", b"2\r\n{}\r0\r\n\r\n", b"2\r\n{}xx0\r\n\r\n", b"2\r\n{}0\r\n\r\n", b"2\r\n{}\r\n0\r\n\n", b"2\r\n{}\r\n0\n\r\n",
                       b"2\r\n{}\r\n0\r\n\r", b"2\r\n{}\r\n\r\n0\r\n\r\n", b"2\r\n{} \r\n0\r\n\r\n", b"2\r\n{}\r\n0\r\n", b"2\r\n{}\r\n", b"2\r\r\n{}\r\n0\r\n\r\n"],
    "chunk extensions": [b"2;x\r\n{}\r\n0\r\n\r\n", b"2;x=y\r\n{}\r\n0\r\n\r\n", b"2;x=\"y\"\r\n{}\r\n0\r\n\r\n", b"2;x=\"\r\n{}\r\n0\r\n\r\n", b"2 ;x\r\n{}\r\n0\r\n\r\n", b"2; x\r\n{}\r\n0\r\n\r\n", b"2;\r\n{}\r\n0\r\n\r\n",
                         b"2;x\n{}\r\n0\r\n\r\n", b"2;\nxx\r\n{}\r\n0\r\n\r\n", b"2;x\rxx\r\n{}\r\n0\r\n\r\n", b"2;x=\"a\r\nb\"\r\n{}\r\n0\r\n\r\n", b"2;" + b"a" * 5000 + b"\r\n{}\r\n0\r\n\r\n", b"2;\x00\r\n{}\r\n0\r\n\r\n",
                         b"2;\xff\r\n{}\r\n0\r\n\r\n", b"2x\r\n{}\r\n0\r\n\r\n", b"2\xa0;x\r\n{}\r\n0\r\n\r\n", b"0;x\r\n\r\n", b"2,x\r\n{}\r\n0\r\n\r\n", b"2=x\r\n{}\r\n0\r\n\r\n"],
    "trailers": [b"0\r\nX-A: a\r\n\r\n", b"0\r\nContent-Length: 50\r\n\r\n", b"0\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\nAuthorization: Bearer evil\r\n\r\n", b"0\r\nX-Pointsman-Worker: evil\r\n\r\n",
                 b"0\r\nHost: evil\r\n\r\n", b"0\r\nX-A : a\r\n\r\n", b"0\r\nX-A\r\n\r\n", b"0\r\n X-A: a\r\n\r\n", b"0\r\nX-A: a\n\r\n", b"0\r\nX-A: a\r\n b\r\n\r\n", b"0\r\nX-A: a\rb\r\n\r\n", b"0\r\n: a\r\n\r\n",
                 b"0\r\nGET /smuggled?@caseid@ HTTP/1.1\r\nHost: x\r\n\r\n", b"0\r\nX: GET /smuggled?@caseid@ HTTP/1.1\r\n\r\n", b"0\r\nX-A: " + b"a" * 70000 + b"\r\n\r\n", b"0\r\nX-A: a\x00\r\n\r\n",
                 b"0\r\nConnection: close\r\n\r\n", b"0\r\nX-Forwarded-For: 8.8.8.8\r\n\r\n"],
}
CHUNKED = b"Transfer-Encoding: chunked"
LENGTH = b"Content-Length: LEN"
JSON = b'{"a": 1}'
LINE = b"METHOD TARGET HTTP/1.1"


def head_case(family, line, headers, body, host=b"Host: router", ends=b"\r\n"):
    line = line.replace(b"METHOD", b"POST" if body else b"GET").replace(b"TARGET", FIRST)
    length = len(body)
    lines = [line, *([host] if host else []), b"X-Case: " + ID, *(each.replace(b"LEN", b"%d" % length) for each in headers)]
    return Case(family, ends.join(lines) + ends + ends + body + PROBE)


def heads(combinations):
    """Each peculiarity alone, then combinations of two or three."""
    chance = random.Random(20261127)
    for family, lines in LINES.items():
        for line, (headers, body) in itertools.product(lines, [([], b""), ([LENGTH], JSON), ([CHUNKED], CHUNKS["chunks"][0]), ([LENGTH], SMUGGLED)]):
            yield head_case(family, line, headers, body)
    framing = ("lengths", "codings", "length and coding")
    for family, lines in HEADERS.items():
        bodies = [JSON, SMUGGLED, CHUNKS["chunks"][0], CHUNKS["chunks"][1], b"0\r\n\r\n" + SMUGGLED] if family in framing else [JSON, SMUGGLED]
        for extra, body in itertools.product(lines, bodies):
            yield head_case(family, LINE, [extra] if family in framing else [LENGTH, extra], body)
            yield head_case(family, LINE, [extra] if family in framing else [extra, LENGTH], body)
            if family in framing:
                yield head_case(family, b"METHOD TARGET HTTP/1.0", [extra], body)
        if family not in framing:
            for extra in lines:
                yield head_case(family, LINE, [extra], b"")
    for family, bodies in CHUNKS.items():
        for body in bodies:
            yield head_case(family, LINE, [CHUNKED], body)
            yield head_case(family, LINE, [CHUNKED], body + SMUGGLED[:-2] + b"Content-Length: %d\r\n\r\n" % len(PROBE))
    for ends in (b"\n", b"\r", b"\r\r\n", b"\n\r"):
        yield head_case("folded and broken lines", LINE, [], b"", ends=ends)
        yield head_case("folded and broken lines", LINE, [LENGTH], SMUGGLED, ends=ends)
    for host in (b"", b"Host:", b"Host: a\r\nHost: b", b"Host: a\r\nHost: a", b"Host : a", b" Host: a"):
        yield head_case("hosts", LINE, [LENGTH], JSON, host=host)
    lines = [line for each in LINES.values() for line in each if len(line) < 1000]
    extras = [line for each in HEADERS.values() for line in each if len(line) < 1000]
    chunks = [body for each in CHUNKS.values() for body in each if len(body) < 1000]
    for _ in range(combinations):
        line = chance.choice(lines) if chance.random() < 0.15 else LINE
        in_chunks = chance.random() < 0.5
        body = chance.choice(chunks) if in_chunks else chance.choice([JSON, SMUGGLED, b""])
        headers = [CHUNKED if in_chunks else LENGTH] if chance.random() < 0.7 else []
        headers += chance.choices(extras, k=chance.choice([1, 1, 2]))
        chance.shuffle(headers)
        yield head_case("two of these", line, headers, body)
