"""The SDKs of OpenAI and Anthropic for Python: tools, images in base64, and streams that are left early.

test_openai_sdk.py and test_errors.py have answers, streams, retries and errors.
"""

import json
import os

import anthropic
import openai
import pytest
from seen import await_one_more, left

URL = os.environ["POINTSMAN_SCRIPTED_URL"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
DATA = "data:image/png;base64," + PIXEL
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = "What is it?"


class Chats:
    """OpenAI's chats."""

    tools = [{"type": "function", "function": {"name": "weather", "parameters": CITY}}]
    image = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": DATA}}]

    def __init__(self):
        self.client = openai.OpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, timeout=60)

    def ask(self, model, messages, **more):
        return self.client.chat.completions.create(model=model, messages=messages, **more)

    def text(self, answer):
        return answer.choices[0].message.content

    def call(self, streamed):
        """The arguments of the tool that the model calls, and the messages after it."""
        asked = [{"role": "user", "content": "hi"}]
        if streamed:
            parts = [part.choices[0].delta for part in self.ask("agent", asked, tools=self.tools, stream=True)]
            functions = [each.function for part in parts for each in part.tool_calls or []]
            arguments = "".join(each.arguments or "" for each in functions)
        else:
            arguments = self.ask("agent", asked, tools=self.tools).choices[0].message.tool_calls[0].function.arguments
        function = {"name": "weather", "arguments": arguments}
        called = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
        return json.loads(arguments), [*asked, called, {"role": "tool", "tool_call_id": "call_1", "content": "sun"}]


class Responses(Chats):
    """OpenAI's responses."""

    tools = [{"type": "function", "name": "weather", "parameters": CITY, "strict": False}]
    image = [{"type": "input_text", "text": QUESTION}, {"type": "input_image", "image_url": DATA}]

    def ask(self, model, messages, **more):
        return self.client.responses.create(model=model, input=messages, **more)

    def text(self, answer):
        return answer.output_text

    def call(self, streamed):
        asked = [{"role": "user", "content": "hi"}]
        if streamed:
            events = list(self.ask("agent", asked, tools=self.tools, stream=True))
            arguments = "".join(each.delta for each in events if each.type == "response.function_call_arguments.delta")
        else:
            arguments = self.ask("agent", asked, tools=self.tools).output[0].arguments
        called = {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": arguments}
        return json.loads(arguments), [*asked, called, {"type": "function_call_output", "call_id": "call_1", "output": "sun"}]


class Messages(Chats):
    """Anthropic's messages."""

    tools = [{"name": "weather", "input_schema": CITY}]
    image = [
        {"type": "text", "text": QUESTION},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
    ]

    def __init__(self):
        self.client = anthropic.Anthropic(base_url=URL, api_key="any", max_retries=0, timeout=60)

    def ask(self, model, messages, **more):
        return self.client.messages.create(model=model, max_tokens=64, messages=messages, **more)

    def text(self, answer):
        return answer.content[0].text

    def call(self, streamed):
        asked = [{"role": "user", "content": "hi"}]
        if streamed:
            with self.client.messages.stream(model="agent", max_tokens=64, messages=asked, tools=self.tools) as parts:
                block = parts.get_final_message().content[0]
        else:
            block = self.ask("agent", asked, tools=self.tools).content[0]
        called = {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        result = {"type": "tool_result", "tool_use_id": block.id, "content": "sun"}
        return block.input, [*asked, {"role": "assistant", "content": [called]}, {"role": "user", "content": [result]}]


@pytest.fixture(params=[Chats, Responses, Messages])
def api(request):
    made = request.param()
    with made.client:
        yield made


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_is_called_and_its_result_is_used(api, streamed):
    arguments, messages = api.call(streamed)
    assert arguments == {"city": "Basel"}
    assert api.text(api.ask("agent", messages, tools=api.tools)) == "The tool says: sun"


def test_an_image_arrives(api):
    answer = api.ask("agent", [{"role": "user", "content": api.image}])
    assert api.text(answer) == f"images of {len(PIXEL)} characters"


def test_a_stream_that_is_left_early_cancels_the_engine(api):
    before = left()
    stream = api.ask("endless", [{"role": "user", "content": "hi"}], stream=True)
    next(iter(stream))
    stream.close()
    await_one_more(before)
