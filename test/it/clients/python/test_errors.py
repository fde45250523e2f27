"""Errors of the router, as the exceptions of the official SDKs of OpenAI and Anthropic.

POINTSMAN_SCRIPTED_URL names a router with the scripted engine, and a dead engine for the model `gone`.
"""

import os
import signal

import anthropic
import openai
import pytest
from routers import router

URL = os.environ["POINTSMAN_SCRIPTED_URL"]
HI = [{"role": "user", "content": "hi"}]


def openai_client(url=URL, retries=0):
    return openai.OpenAI(base_url=url + "/v1", api_key="any", max_retries=retries, timeout=60)


def anthropic_client(url=URL, retries=0):
    return anthropic.Anthropic(base_url=url, api_key="any", max_retries=retries, timeout=60)


def chat(model, url=URL, stream=False, retries=0):
    with openai_client(url, retries) as c:
        answer = c.chat.completions.create(model=model, messages=HI, stream=stream)
        if not stream:
            return answer.choices[0].message.content
        return "".join(x.choices[0].delta.content or "" for x in answer if x.choices)


def completions(model, url=URL, stream=False, retries=0):
    with openai_client(url, retries) as c:
        answer = c.completions.create(model=model, prompt="hi", stream=stream)
        return "".join(x.choices[0].text for x in answer) if stream else answer.choices[0].text


def responses(model, url=URL, stream=False, retries=0):
    with openai_client(url, retries) as c:
        answer = c.responses.create(model=model, input="hi", stream=stream)
        if not stream:
            return answer.output_text
        return "".join(x.delta for x in answer if x.type == "response.output_text.delta")


def messages(model, url=URL, stream=False, retries=0):
    with anthropic_client(url, retries) as c:
        if stream:
            with c.messages.stream(model=model, max_tokens=9, messages=HI) as s:
                return "".join(s.text_stream)
        return c.messages.create(model=model, max_tokens=9, messages=HI).content[0].text


OPENAI = [chat, completions, responses]
ALL = [*OPENAI, messages]


def sdk(call):
    return anthropic if call is messages else openai


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_is_complete(call, stream):
    assert call("agent", stream=stream) == "Hello from the engine"


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("model", ["cut", "stall"])
def test_half_a_stream_raises(call, model):
    with pytest.raises(sdk(call).APIError) as error:
        call(model, stream=True)
    assert "worker" in str(error.value)


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_model_is_not_found(call, stream):
    with pytest.raises(sdk(call).NotFoundError) as error:
        call("no-such-model", stream=stream)
    assert "no-such-model" in error.value.message
    assert error.value.request_id


def test_anthropics_error_has_its_type():
    with pytest.raises(anthropic.NotFoundError) as error:
        messages("no-such-model")
    assert error.value.body["error"]["type"] == "not_found_error"
    assert error.value.type == "not_found_error"


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("stream", [False, True])
def test_a_busy_engine_is_a_rate_limit(call, stream):
    with pytest.raises(sdk(call).RateLimitError) as error:
        call("busy", stream=stream)
    assert error.value.response.headers["retry-after"]


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("stream", [False, True])
def test_a_dead_engine_is_a_server_error(call, stream):
    with pytest.raises(sdk(call).InternalServerError if call in OPENAI else anthropic.APIStatusError) as error:
        call("gone", stream=stream)
    assert error.value.status_code == 503
    if call is messages:
        assert isinstance(error.value, (anthropic.ServiceUnavailableError, anthropic.OverloadedError))
        assert error.value.body["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("call", ALL)
def test_a_silent_engine_is_a_timeout(call):
    with pytest.raises(sdk(call).APIStatusError) as error:
        call("silent", stream=True)
    assert error.value.status_code == 504
    if call is messages:
        assert error.value.body["error"]["type"] == "timeout_error"


@pytest.mark.parametrize("call", ALL)
def test_an_engine_that_breaks_off_is_a_bad_gateway(call):
    with pytest.raises(sdk(call).InternalServerError) as error:
        call("broken")
    assert error.value.status_code == 502


@pytest.mark.parametrize("call", ALL)
def test_the_sdk_retries_after_a_failure(call):
    assert call("flaky", retries=3) == "Hello from the engine"


def test_a_wrong_body_is_a_bad_request_for_anthropic():
    with anthropic_client() as c, pytest.raises(anthropic.BadRequestError) as error:
        c.post("/v1/messages", cast_to=object, content=b'{"model": "agent", "messages": [')
    assert error.value.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("call", ALL)
def test_a_full_queue_is_a_rate_limit(call):
    with router("--max-concurrent-requests", "1", "--queue-size", "0") as (url, _):
        with openai_client(url) as c:
            running = c.chat.completions.create(model="endless", messages=HI, stream=True)
            next(iter(running))
            with pytest.raises(sdk(call).RateLimitError):
                call("agent", url)
            running.close()


@pytest.mark.parametrize("call", ALL)
def test_a_stop_of_the_router_ends_a_stream_with_an_error(call):
    with router("--drain-timeout", "1s") as (url, process):
        with pytest.raises(sdk(call).APIError) as error:
            endless(call, url, lambda: process.send_signal(signal.SIGTERM))
        assert "shutting down" in str(error.value)
        assert process.wait(60) == 0


def endless(call, url, then):
    """Reads an answer without an end, and calls `then` after its first events."""
    if call is messages:
        with anthropic_client(url) as c, c.messages.stream(model="endless", max_tokens=9, messages=HI) as s:
            read(s, then)
        return
    with openai_client(url) as c:
        if call is chat:
            read(c.chat.completions.create(model="endless", messages=HI, stream=True), then)
        elif call is completions:
            read(c.completions.create(model="endless", prompt="hi", stream=True), then)
        else:
            read(c.responses.create(model="endless", input="hi", stream=True), then)


def read(events, then):
    for number, _ in enumerate(events):
        if number == 3:
            then()
