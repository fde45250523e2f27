"""Programs that people point at a router: LiteLLM as a client, and LangChain.

Each streams, calls a tool, sends an image in base64, leaves a stream early and retries.
"""

import json
import os

import litellm
import openai
import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from seen import await_one_more, left

URL = os.environ["POINTSMAN_SCRIPTED_URL"]
SIMULATED = os.environ["POINTSMAN_URL"]
MODEL = os.environ["POINTSMAN_MODEL"]
WHOLE = "Hello from the engine"
HI = [{"role": "user", "content": "hi"}]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
IMAGE = f"images of {len(PIXEL)} characters"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class LiteLlm:
    """LiteLLM with the provider of one API."""

    def __init__(self, provider, base):
        self.provider = provider
        self.base = base

    def ask(self, model, messages=HI, **more):
        return litellm.completion(
            model=f"{self.provider}/{model}", api_base=self.base, api_key="any", messages=messages, timeout=60, **more
        )


@pytest.fixture(params=["openai", "hosted_vllm", "anthropic"])
def lite(request):
    return LiteLlm(request.param, URL + ("" if request.param == "anthropic" else "/v1"))


def test_litellm_answers_and_streams(lite):
    assert lite.ask("agent").choices[0].message.content == WHOLE
    parts = lite.ask("agent", stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in parts) == WHOLE


def test_litellm_calls_a_tool(lite):
    first = lite.ask("agent", tools=[WEATHER]).choices[0].message
    call = first.tool_calls[0]
    assert json.loads(call.function.arguments) == {"city": "Basel"}
    result = {"role": "tool", "tool_call_id": call.id, "content": "sun"}
    answer = lite.ask("agent", [*HI, first.model_dump(exclude_none=True), result], tools=[WEATHER])
    assert answer.choices[0].message.content == "The tool says: sun"


def test_litellm_sends_an_image(lite):
    content = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}},
    ]
    answer = lite.ask("agent", [{"role": "user", "content": content}])
    assert answer.choices[0].message.content == IMAGE


def test_litellm_leaves_a_stream_early(lite):
    before = left()
    parts = lite.ask("endless", stream=True)
    for _ in range(3):
        next(iter(parts))
    close = getattr(parts.completion_stream, "close", None)
    if close:
        close()
    del parts, close
    await_one_more(before)


def test_litellm_retries_and_raises_the_error_of_the_status(lite):
    assert lite.ask("flaky", num_retries=3).choices[0].message.content == WHOLE
    with pytest.raises(litellm.RateLimitError):
        lite.ask("busy", num_retries=0, max_retries=0)
    with pytest.raises(litellm.NotFoundError):
        lite.ask("no-such-model", max_retries=0)


def test_litellm_raises_for_half_a_stream(lite):
    with pytest.raises(openai.APIError, match="worker"):
        list(lite.ask("cut", stream=True, num_retries=0, max_retries=0))


def test_litellm_embeds():
    answer = litellm.embedding(
        model="openai/" + MODEL, api_base=SIMULATED + "/v1", api_key="any", input=["a", "b"], encoding_format="float"
    )
    assert len(answer.data) == 2


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return "sun in " + city


@pytest.fixture(params=["openai", "responses", "anthropic"])
def chain(request):
    def make(model, retries=0):
        if request.param == "anthropic":
            return ChatAnthropic(model_name=model, base_url=URL, api_key="any", max_retries=retries, timeout=60)
        responses = request.param == "responses"
        return ChatOpenAI(
            model=model, base_url=URL + "/v1", api_key="any", max_retries=retries, use_responses_api=responses, timeout=60
        )

    return make


def test_langchain_answers_and_streams(chain):
    assert chain("agent").invoke("hi").text == WHOLE
    assert "".join(part.text for part in chain("agent").stream("hi")) == WHOLE


def test_langchain_calls_a_tool(chain):
    model = chain("agent").bind_tools([weather])
    first = model.invoke("How is the weather in Basel?")
    assert first.tool_calls[0]["args"] == {"city": "Basel"}
    result = weather.invoke(first.tool_calls[0])
    answer = model.invoke([HumanMessage("How is the weather in Basel?"), first, result])
    assert answer.text == "The tool says: sun in Basel"


def test_langchain_streams_a_tool_call(chain):
    whole = None
    for part in chain("agent").bind_tools([weather]).stream("How is the weather in Basel?"):
        whole = part if whole is None else whole + part
    assert whole.tool_calls[0]["args"] == {"city": "Basel"}


def test_langchain_sends_an_image(chain):
    image = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    message = HumanMessage([{"type": "text", "text": "What is it?"}, image])
    assert chain("agent").invoke([message]).text == IMAGE


def test_langchain_leaves_a_stream_early(chain):
    before = left()
    parts = chain("endless").stream("hi")
    next(parts)
    next(parts)
    parts.close()
    await_one_more(before)


def test_langchain_retries_and_raises(chain):
    assert chain("flaky", retries=3).invoke("hi").text == WHOLE
    with pytest.raises(Exception, match="no-such-model"):
        chain("no-such-model").invoke("hi")
    with pytest.raises(Exception, match="worker"):
        list(chain("cut").stream("hi"))


def test_langchain_embeds():
    embeddings = OpenAIEmbeddings(
        model=MODEL, base_url=SIMULATED + "/v1", api_key="any", check_embedding_ctx_length=False
    )
    assert len(embeddings.embed_documents(["a", "b"])) == 2
