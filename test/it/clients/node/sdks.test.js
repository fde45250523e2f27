// The SDKs of OpenAI and Anthropic for Node: tools, images in base64, retries, and streams that are aborted.
// openai-sdk.test.js and errors.test.js have answers, streams and errors.

import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { begun, cancelled } from "./seen.js";

const url = process.env.POINTSMAN_SCRIPTED_URL;
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const question = "What is it?";
const data = "data:image/png;base64," + pixel;
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const hi = [{ role: "user", content: "hi" }];
const openai = new OpenAI({ baseURL: url + "/v1", apiKey: "any", maxRetries: 0, timeout: 60_000 });
const anthropic = new Anthropic({ baseURL: url, apiKey: "any", maxRetries: 0, timeout: 60_000 });

const apis = {
  "OpenAI's chats": {
    path: "/v1/chat/completions",
    ask: (model, messages, more, how) => openai.chat.completions.create({ model, messages, ...more }, how),
    text: (answer) => answer.choices[0].message.content,
    image: [
      { type: "text", text: question },
      { type: "image_url", image_url: { url: data } },
    ],
    tools: [{ type: "function", function: { name: "weather", parameters: city } }],
    called: (answer) => JSON.parse(answer.choices[0].message.tool_calls[0].function.arguments),
    after: (answer) => [answer.choices[0].message, { role: "tool", tool_call_id: "call_1", content: "sun" }],
  },
  "OpenAI's responses": {
    path: "/v1/responses",
    ask: (model, input, more, how) => openai.responses.create({ model, input, ...more }, how),
    text: (answer) => answer.output_text,
    image: [
      { type: "input_text", text: question },
      { type: "input_image", image_url: data, detail: "auto" },
    ],
    tools: [{ type: "function", name: "weather", parameters: city, strict: false }],
    called: (answer) => JSON.parse(answer.output[0].arguments),
    after: (answer) => [answer.output[0], { type: "function_call_output", call_id: "call_1", output: "sun" }],
  },
  "Anthropic's messages": {
    path: "/v1/messages",
    ask: (model, messages, more, how) =>
      anthropic.messages.create({ model, max_tokens: 64, messages, ...more }, how),
    text: (answer) => answer.content[0].text,
    image: [
      { type: "text", text: question },
      { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
    ],
    tools: [{ name: "weather", input_schema: city }],
    called: (answer) => answer.content[0].input,
    after: (answer) => [
      { role: "assistant", content: answer.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: answer.content[0].id, content: "sun" }] },
    ],
  },
};

for (const [name, api] of Object.entries(apis)) {
  test(`${name}: a tool is called and its result is used`, async () => {
    const first = await api.ask("agent", hi, { tools: api.tools });
    assert.deepEqual(api.called(first), { city: "Basel" });
    const answer = await api.ask("agent", [...hi, ...api.after(first)], { tools: api.tools });
    assert.equal(api.text(answer), "The tool says: sun");
  });

  test(`${name}: an image arrives`, async () => {
    const answer = await api.ask("agent", [{ role: "user", content: api.image }]);
    assert.equal(api.text(answer), `images of ${pixel.length} characters`);
  });

  test(`${name}: it retries after a failure`, async () => {
    const answer = await api.ask("flaky", hi, {}, { maxRetries: 5 });
    assert.equal(api.text(answer), "Hello from the engine");
  });

  test(`${name}: a stream that is aborted cancels the engine`, async () => {
    const before = await begun(api.path);
    const stream = await api.ask("endless", hi, { stream: true });
    for await (const _ of stream) break;
    stream.controller.abort();
    await cancelled(api.path, before);
  });
}
