"""The official OpenAI SDK for Python against the router and simulated engines.

POINTSMAN_URL names the router, POINTSMAN_MODEL a model that its engines serve.
"""

import os

import openai
import pytest

URL = os.environ["POINTSMAN_URL"]
MODEL = os.environ["POINTSMAN_MODEL"]


@pytest.fixture
def client():
    with openai.OpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, timeout=30) as c:
        yield c


def messages(text="What does a pointsman do?"):
    return [
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": text},
    ]


def test_chat(client):
    answer = client.chat.completions.create(model=MODEL, messages=messages(), max_tokens=8)
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content
    assert answer.usage.completion_tokens == 8
    assert answer.usage.prompt_tokens > 8


def test_repeated_chat_hits_the_cache_of_the_worker_that_served_it(client):
    text = "Tell me of junctions. " * 60
    for _ in range(2):
        answer = client.chat.completions.create(model=MODEL, messages=messages(text), max_tokens=4)
    cached = answer.usage.prompt_tokens_details.cached_tokens
    assert cached > answer.usage.prompt_tokens / 2


def test_streaming_chat(client):
    stream = client.chat.completions.create(
        model=MODEL, messages=messages(), max_tokens=8, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text
    assert len(chunks) >= 8
    assert chunks[-1].usage.completion_tokens == 8


def test_a_stream_that_is_left_early_leaves_the_client_usable(client):
    stream = client.chat.completions.create(model=MODEL, messages=messages(), max_tokens=512, stream=True)
    next(iter(stream))
    stream.close()
    assert client.chat.completions.create(model=MODEL, messages=messages(), max_tokens=2).choices


def test_completions(client):
    answer = client.completions.create(model=MODEL, prompt="Once upon a", max_tokens=5)
    assert answer.choices[0].text
    assert answer.usage.completion_tokens == 5


def test_streaming_completions(client):
    chunks = list(client.completions.create(model=MODEL, prompt="Once upon a", max_tokens=5, stream=True))
    assert "".join(c.choices[0].text for c in chunks if c.choices)


def test_embeddings(client):
    answer = client.embeddings.create(model=MODEL, input=["one", "two"], encoding_format="float")
    assert [e.index for e in answer.data] == [0, 1]
    assert len(answer.data[0].embedding) > 0


def test_responses(client):
    answer = client.responses.create(model=MODEL, input="Say something.", max_output_tokens=4)
    assert answer.id
    again = client.responses.retrieve(answer.id)
    assert again.id == answer.id


def test_models(client):
    assert MODEL in [m.id for m in client.models.list()]


def test_unknown_model(client):
    with pytest.raises(openai.NotFoundError) as error:
        client.chat.completions.create(model="no-such-model", messages=messages())
    assert error.value.code == "model_not_found"
    assert "no-such-model" in error.value.message
    assert error.value.request_id


def test_wrong_body(client):
    with pytest.raises(openai.BadRequestError) as error:
        client.post("/chat/completions", cast_to=object, content=b'{"model": "' + MODEL.encode() + b'", "messages": [')
    assert error.value.body["type"] == "invalid_request_error"
    assert error.value.body["message"]


def test_raw_response_carries_the_worker_and_the_request_id(client):
    raw = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=messages(), max_tokens=1, extra_headers={"x-request-id": "mine-1"}
    )
    assert raw.headers["x-request-id"] == "mine-1"
    assert raw.headers["x-pointsman-worker"]


def test_async_client_runs_many_requests_at_once():
    import asyncio

    async def run():
        async with openai.AsyncOpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, timeout=60) as c:
            return await asyncio.gather(
                *(c.chat.completions.create(model=MODEL, messages=messages(f"Number {i}"), max_tokens=4) for i in range(64))
            )

    answers = asyncio.run(run())
    assert len(answers) == 64
    assert len({a.id for a in answers}) == 64
