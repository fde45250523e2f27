"""Chats over HTTP/2 through Envoy, which sends them to the router over HTTP/2 with TLS and in clear text.

    through_envoy.py ADMIN ENGINE NAME=URL...

ADMIN is Envoy's admin address, ENGINE the scripted engine's URL. Each NAME is a cluster of Envoy, with the URL of the
listener in front of it.
"""

import asyncio
import json
import sys
import time

import httpx

ADMIN, ENGINE = sys.argv[1:3]
PATH = "/v1/chat/completions"
AT_ONCE = 100
FAILS = []


def check(name, good, seen=""):
    print(f"{'ok    ' if good else 'FAILS '} {name}{'' if good else f': {seen}'}", flush=True)
    if not good:
        FAILS.append(name)


def chat(stream, answer, model="agent"):
    """A chat whose answer repeats a text, so that an exchanged answer is found."""
    messages = [{"role": "user", "content": "hi"}, {"role": "tool", "content": answer}]
    return {"model": model, "stream": stream, "messages": messages}


async def whole(client, answer):
    response = await client.post(PATH, json=chat(False, answer))
    assert response.http_version == "HTTP/2", response.http_version
    return response.json()["choices"][0]["message"]["content"]


async def streamed(client, answer):
    text, ends = "", 0
    async with client.stream("POST", PATH, json=chat(True, answer)) as response:
        assert response.http_version == "HTTP/2" and response.status_code == 200, response
        async for line in response.aiter_lines():
            if line == "data: [DONE]":
                ends += 1
            elif line.startswith("data: "):
                text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
    return f"{text} ({ends})"


async def cancelled(url):
    """Reads the start of an endless answer and closes the connection. Envoy then resets its stream to the router."""
    async with httpx.AsyncClient(base_url=url, http1=False, http2=True, timeout=60) as client:
        async with client.stream("POST", PATH, json=chat(True, "", "endless")) as response:
            events = 0
            async for line in response.aiter_lines():
                events += line.startswith("data: ")
                if events == 5:
                    break
    return events


async def left(engine, before):
    """True once the engine has lost one more client of an endless answer."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        seen = (await engine.get("/seen")).json()
        if sum(each["left"] for each in seen if each["model"] == "endless") > before:
            return True
        await asyncio.sleep(0.1)
    return False


async def stat(admin, cluster, name):
    response = await admin.get("/stats", params={"filter": f"^cluster.{cluster}.{name}$", "format": "json"})
    return sum(each.get("value", 0) for each in response.json()["stats"])


async def through(name, url, engine, admin):
    async with httpx.AsyncClient(base_url=url, http1=False, http2=True, timeout=60) as client:
        seen = await whole(client, "one")
        check(f"{name}: a whole answer", seen == "The tool says: one", seen)
        seen = await streamed(client, "two")
        check(f"{name}: a streamed answer", seen == "The tool says: two (1)", seen)
        seen = (await client.post(PATH, json=large())).json()["choices"][0]["message"]["content"]
        check(f"{name}: a request of 1 MB", seen == "images of 1000000 characters", seen)
        before = sum(each["left"] for each in (await engine.get("/seen")).json() if each["model"] == "endless")
        events = await cancelled(url)
        good = events == 5 and await left(engine, before)
        check(f"{name}: a cancelled stream ends at the engine", good, f"{events} events, not ended")
        seen = await asyncio.gather(*(one(client, i) for i in range(AT_ONCE)))
        wrong = [each for i, each in enumerate(seen) if each != expected(i)]
        check(f"{name}: {AT_ONCE} requests at once", not wrong, wrong[:3])
    http2 = await stat(admin, name, "upstream_cx_http2_total")
    http1 = await stat(admin, name, "upstream_cx_http1_total")
    at_once = await stat(admin, name, "upstream_rq_total")
    good = 0 < http2 < 10 and http1 == 0 and at_once >= AT_ONCE
    check(f"{name}: HTTP/2 to the router, on few connections", good, (http2, http1, at_once))


def large():
    url = {"url": "data:image/png;base64," + "A" * 1_000_000}
    return {"model": "agent", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]}


def one(client, i):
    return streamed(client, f"n{i}") if i % 2 else whole(client, f"n{i}")


def expected(i):
    return f"The tool says: n{i}{' (1)' if i % 2 else ''}"


async def main():
    async with httpx.AsyncClient(base_url=ENGINE) as engine, httpx.AsyncClient(base_url=ADMIN) as admin:
        for each in sys.argv[3:]:
            name, url = each.split("=", 1)
            await through(name, url, engine, admin)


asyncio.run(main())
sys.exit(bool(FAILS))
