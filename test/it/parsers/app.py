"""An engine's web application on uvicorn that writes each complete request to a file.

    app.py PARSER RECORDS PAGE

PARSER is h11 or httptools, RECORDS the file, PAGE the reference of the HTTP API, which lists the control paths of
engines. Each of them is a route with the name `control`, as in vLLM (FastAPI is Starlette). All methods are allowed, so a
route is found by its path alone. Other paths are `other`. Prints its URL, then serves until it is stopped.
"""

import asyncio
import json
import re
import socket
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route, WebSocketRoute

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"]


def control_paths(page):
    """The paths in the first column of the table below "Control calls to engines"."""
    with open(page, encoding="utf-8") as file:
        section = file.read().split("## Control calls to engines\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `/")]
    return sorted({path for row in rows for path in re.findall(r"`(/[^`]+)`", row)})


class Recorder:
    """An ASGI application around another one. Writes a line for each request whose body is complete."""

    def __init__(self, inner, records):
        self.inner = inner
        self.records = open(records, "a", buffering=1, encoding="utf-8")

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        body = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        scope["state"] = {"route": "other"}

        async def whole():
            return {"type": "http.request", "body": body, "more_body": False}

        async def answered(message):
            if message["type"] == "http.response.start":
                self.write(scope, body)
            await send(message)

        await self.inner(scope, whole, answered)

    def write(self, scope, body):
        self.records.write(json.dumps({
            "method": scope["method"],
            "target": scope["raw_path"].decode("latin1") + "?" + scope["query_string"].decode("latin1"),
            "route": scope["state"]["route"],
            "headers": [[name.decode("latin1").lower(), value.decode("latin1")] for name, value in scope["headers"]],
            "body": body.decode("latin1"),
        }) + "\n")


def named(route):
    async def endpoint(request):
        request.scope["state"]["route"] = route
        return JSONResponse({"route": route})

    return endpoint


async def mounted(scope, receive, send):
    scope["state"]["route"] = "control"
    await JSONResponse({})(scope, receive, send)


async def models(request):
    return JSONResponse({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]})


async def control_socket(websocket):
    await websocket.close()


async def main():
    parser, records, page = sys.argv[1:]
    routes = [Route(path, named("control"), methods=METHODS) for path in control_paths(page)]
    # vLLM mounts its metrics, so all paths below are metrics too.
    routes.append(Mount("/metrics", mounted))
    routes.append(Route("/v1/models", models))
    routes.append(Route("/{path:path}", named("other"), methods=METHODS))
    routes.append(WebSocketRoute("/{path:path}", control_socket))
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    # Without a package for WebSockets, uvicorn reads their requests as any other. Without proxy_headers the application
    # sees the head as it came.
    config = uvicorn.Config(Recorder(Starlette(routes=routes), records), http=parser, log_level="critical", lifespan="off",
                            timeout_keep_alive=600, proxy_headers=False)
    print(f"serves at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
