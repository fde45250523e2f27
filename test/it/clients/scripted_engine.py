"""An engine that chooses its answers by the model in the request. Standard library only.

Speaks chat completions, completions, responses and messages. Prints its URL, then serves until it is stopped.
The arguments are the models that it lists; without arguments all of them.
GET /seen lists the requests for workers: path, model, and whether the client left before the end of the answer.
"""

import asyncio
import contextlib
import json
import sys

MODELS = {
    "agent": "calls the tool that is offered, then answers with its result; reports images by their size",
    "cut": "half an answer, then a reset",
    "stall": "half an answer, then silence",
    "broken": "no answer, the connection closes",
    "silent": "no answer, the connection stays open",
    "busy": "429",
    "flaky": "500 for each second request, beginning with the first",
    "endless": "an answer without an end",
}
served = sys.argv[1:] or list(MODELS)

# Tools that are called, with their arguments; the last ones are those of coding agents.
TOOLS = {
    "weather": '{"city": "Basel"}',
    "exec_command": '{"cmd": "echo forty-$((2))"}',
    "bash": '{"command": "echo forty-$((2))", "description": "Counts"}',
}
seen = []
flaky = 0


def images(value):
    """Sizes in base64 characters of the images in a request."""
    if isinstance(value, list):
        return [size for each in value for size in images(each)]
    if not isinstance(value, dict):
        return []
    url = value.get("image_url")
    url = url.get("url") if isinstance(url, dict) else url
    if isinstance(url, str) and url.startswith("data:"):
        return [len(url.split(",", 1)[1])]
    if value.get("type") == "base64" and "data" in value:
        return [len(value["data"])]
    return [size for each in value.values() for size in images(each)]


def result(request):
    """The result of a tool in the request; None if there is none."""
    for each in reversed(request.get("messages") or request.get("input") or []):
        if not isinstance(each, dict):
            continue
        if each.get("role") == "tool":
            return each["content"] if isinstance(each["content"], str) else each["content"][0]["text"]
        if each.get("type") == "function_call_output":
            return each["output"]
        for part in each["content"] if isinstance(each.get("content"), list) else []:
            if isinstance(part, dict) and part.get("type") == "tool_result":
                content = part["content"]
                return content if isinstance(content, str) else content[0]["text"]
    return None


def tool(request):
    """The name and arguments of the tool to call; None if the request offers none or has its result."""
    if not request.get("tools") or result(request) is not None:
        return None
    for each in request["tools"]:
        name = each.get("name") or each.get("function", {}).get("name")
        if name in TOOLS:
            return name, TOOLS[name]
    return None


def words(request):
    sizes = images(request)
    if sizes:
        return [f"images of {sizes[0]} ", "characters"]
    found = result(request)
    return ["The tool says: ", str(found)] if found is not None else ["Hello ", "from ", "the ", "engine"]


def chunk(delta, finish=None, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "choices": [choice], **more}


USAGE = {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}


def chat_events(request):
    model = {"model": request["model"]}
    yield None, chunk({"role": "assistant", "content": ""}, **model)
    call = tool(request)
    if call:
        function = {"name": call[0], "arguments": call[1]}
        calls = [{"index": 0, "id": "call_1", "type": "function", "function": function}]
        yield None, chunk({"tool_calls": calls}, **model)
    else:
        for word in words(request):
            yield None, chunk({"content": word}, **model)
    end = chunk({}, "tool_calls" if call else "stop", **model)
    if (request.get("stream_options") or {}).get("include_usage"):
        yield None, end
        end = {**end, "choices": [], "usage": USAGE}
    yield None, end
    yield None, "[DONE]"


def chat(request):
    call = tool(request)
    message = {"role": "assistant", "content": None if call else "".join(words(request))}
    if call:
        function = {"name": call[0], "arguments": call[1]}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"]}
    return {**head, "choices": [choice], "usage": USAGE}


def completion_events(request):
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": request["model"]}
    for word in words(request):
        yield None, {**head, "choices": [{"index": 0, "text": word, "finish_reason": None}]}
    yield None, {**head, "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}
    yield None, "[DONE]"


def completion(request):
    choice = {"index": 0, "text": "".join(words(request)), "finish_reason": "stop"}
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": request["model"]}
    return {**head, "choices": [choice], "usage": USAGE}


def message(request):
    call = tool(request)
    content = [{"type": "text", "text": "".join(words(request))}]
    if call:
        content = [{"type": "tool_use", "id": "toolu_1", "name": call[0], "input": json.loads(call[1])}]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": content}
    usage = {"input_tokens": 7, "output_tokens": 4}
    return {**head, "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": usage}


def message_events(request):
    def event(kind, **more):
        return kind, {"type": kind, **more}

    whole = message(request)
    usage = {"input_tokens": 7, "output_tokens": 0}
    start = {**whole, "content": [], "stop_reason": None, "usage": usage}
    yield event("message_start", message=start)
    block = whole["content"][0]
    call = tool(request)
    empty = {**block, "input": {}} if call else {**block, "text": ""}
    yield event("content_block_start", index=0, content_block=empty)
    deltas = [{"type": "text_delta", "text": word} for word in words(request)]
    if call:
        deltas = [{"type": "input_json_delta", "partial_json": call[1]}]
    for delta in deltas:
        yield event("content_block_delta", index=0, delta=delta)
    yield event("content_block_stop", index=0)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": 4})
    yield event("message_stop")


def response(request, status="completed"):
    call = tool(request)
    text = {"type": "output_text", "text": "".join(words(request)), "annotations": [], "logprobs": []}
    item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
    if call:
        names = {"call_id": "call_1", "name": call[0], "arguments": call[1]}
        item = {"type": "function_call", "id": "fc_1", "status": "completed", **names}
    usage = {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 11,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": request["model"],
        "output": [item] if status == "completed" else [],
        "usage": usage if status == "completed" else None,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def response_events(request):
    number = -1

    def event(kind, **more):
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number, **more}

    whole = response(request)
    item = whole["output"][0]
    call = tool(request)
    yield event("response.created", response=response(request, "in_progress"))
    empty = {**item, "status": "in_progress", **({"arguments": ""} if call else {"content": []})}
    yield event("response.output_item.added", output_index=0, item=empty)
    at = {"item_id": item["id"], "output_index": 0}
    if call:
        yield event("response.function_call_arguments.delta", **at, delta=call[1])
        yield event("response.function_call_arguments.done", **at, name=call[0], arguments=call[1])
    else:
        part = item["content"][0]
        yield event("response.content_part.added", **at, content_index=0, part={**part, "text": ""})
        for word in words(request):
            yield event("response.output_text.delta", **at, content_index=0, delta=word, logprobs=[])
        yield event("response.output_text.done", **at, content_index=0, text=part["text"], logprobs=[])
        yield event("response.content_part.done", **at, content_index=0, part=part)
    yield event("response.output_item.done", output_index=0, item=item)
    yield event("response.completed", response=whole)


APIS = {
    "/v1/chat/completions": (chat, chat_events),
    "/v1/completions": (completion, completion_events),
    "/v1/messages": (message, message_events),
    "/v1/responses": (response, response_events),
}


async def send(writer, status, document, *headers):
    body = json.dumps(document).encode()
    lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(body)}"]
    lines += [*headers, "connection: close", "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()


async def send_event(writer, event):
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    block = ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()
    writer.write(b"%x\r\n%s\r\n" % (len(block), block))
    await writer.drain()


async def stream(writer, request, events):
    """Sends events."""
    head = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    writer.write(f"HTTP/1.1 200 OK\r\n{head}".encode())
    events = list(events(request))
    if request["model"] == "endless":
        for each in events[:3]:
            await send_event(writer, each)
        while True:
            await send_event(writer, events[3])
            await asyncio.sleep(0.05)
    if request["model"] in ("cut", "stall"):
        for each in events[: 1 + len(events) // 2]:
            await send_event(writer, each)
        await asyncio.sleep(0.2 if request["model"] == "cut" else 600)
        writer.transport.abort()
        return
    for each in events:
        await send_event(writer, each)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def answer(writer, path, request):
    global flaky
    whole, events = APIS[path]
    model = request["model"]
    if model == "flaky":
        flaky += 1
    if model == "busy" or (model == "flaky" and flaky % 2):
        kind = "rate_limit_error" if model == "busy" else "api_error"
        error = {"message": "not now", "type": kind}
        document = {"type": "error", "error": error} if path == "/v1/messages" else {"error": error}
        await send(writer, 429 if model == "busy" else 500, document, "retry-after: 1")
        return
    if model == "silent":
        await asyncio.sleep(600)
    if model == "broken" or (model in ("cut", "stall", "endless") and not request.get("stream")):
        writer.transport.abort()
    elif request.get("stream"):
        await stream(writer, request, events)
    else:
        await send(writer, 200, whole(request))


async def end(reader):
    """Waits until the client has left."""
    with contextlib.suppress(ConnectionError):
        await reader.read(1)


async def watched(reader, writer, path, request):
    """Answers a request, unless the client leaves first."""
    entry = {"path": path, "model": request.get("model"), "left": False}
    seen.append(entry)
    work = asyncio.ensure_future(answer(writer, path, request))
    gone = asyncio.ensure_future(end(reader))
    done, _ = await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    # The write to a client that has left may fail before its end is read.
    if work in done and not isinstance(work.exception(), ConnectionError):
        gone.cancel()
        work.result()
    else:
        entry["left"] = True
        work.cancel()


async def serve(reader, writer):
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1")
        method, path = head.split(" ", 2)[:2]
        lengths = [line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
        body = await reader.readexactly(int(lengths[0])) if lengths else b""
        path = path.split("?")[0]
        if method == "POST" and path in APIS:
            await watched(reader, writer, path, json.loads(body))
        elif path == "/v1/models":
            cards = [{"id": name, "object": "model", "created": 1, "owned_by": "test"} for name in served]
            await send(writer, 200, {"object": "list", "data": cards})
        elif path == "/seen":
            await send(writer, 200, seen)
        else:
            await send(writer, 200 if path == "/health" else 404, {})
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    port = server.sockets[0].getsockname()[1]
    print(f"serves {', '.join(served)} at http://127.0.0.1:{port}", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())
