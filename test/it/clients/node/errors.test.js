// Errors of the router, as the exceptions of the official SDKs of OpenAI and Anthropic for Node.
// POINTSMAN_SCRIPTED_URL names a router with the scripted engine, and a dead engine for the model `gone`.

import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const url = process.env.POINTSMAN_SCRIPTED_URL;
const messages = [{ role: "user", content: "hi" }];
const openai = new OpenAI({ baseURL: url + "/v1", apiKey: "any", maxRetries: 0, timeout: 60_000 });
const anthropic = new Anthropic({ baseURL: url, apiKey: "any", maxRetries: 0, timeout: 60_000 });

const calls = {
  async chat(model) {
    let text = "";
    for await (const each of await openai.chat.completions.create({ model, messages, stream: true })) {
      text += each.choices[0]?.delta?.content ?? "";
    }
    return text;
  },
  async completions(model) {
    let text = "";
    for await (const each of await openai.completions.create({ model, prompt: "hi", stream: true })) {
      text += each.choices[0].text;
    }
    return text;
  },
  async responses(model) {
    let text = "";
    for await (const each of await openai.responses.create({ model, input: "hi", stream: true })) {
      if (each.type === "response.output_text.delta") text += each.delta;
    }
    return text;
  },
  async messages(model) {
    const stream = anthropic.messages.stream({ model, max_tokens: 9, messages });
    return await stream.finalText();
  },
};

for (const [name, call] of Object.entries(calls)) {
  const SDK = name === "messages" ? Anthropic : OpenAI;
  const fails = (model, type, check) =>
    assert.rejects(call(model), (error) => {
      assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
      check?.(error);
      return true;
    });

  test(`${name}: an answer is complete`, async () => {
    assert.equal(await call("agent"), "Hello from the engine");
  });

  for (const model of ["cut", "stall"]) {
    test(`${name}: half a stream throws (${model})`, async () => {
      await fails(model, SDK.APIError, (error) => assert.match(error.message, /worker/));
    });
  }

  test(`${name}: an unknown model is not found`, async () => {
    await fails("no-such-model", SDK.NotFoundError, (error) => {
      assert.match(error.message, /no-such-model/);
      assert.ok(error.requestID);
    });
  });

  test(`${name}: a busy engine is a rate limit`, async () => {
    await fails("busy", SDK.RateLimitError);
  });

  for (const [model, status] of [["gone", 503], ["silent", 504]]) {
    test(`${name}: ${status} is a server error`, async () => {
      await fails(model, SDK.InternalServerError, (error) => assert.equal(error.status, status));
    });
  }
}

test("an error of Anthropic's form has its type", async () => {
  await assert.rejects(anthropic.messages.create({ model: "gone", max_tokens: 9, messages }), (error) => {
    assert.equal(error.error.error.type, "overloaded_error");
    return true;
  });
});
