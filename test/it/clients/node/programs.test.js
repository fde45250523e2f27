// The AI SDK of Vercel with its providers for OpenAI-compatible servers and for Anthropic.
// Each streams, calls a tool, sends an image in base64, leaves a stream early and retries.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { begun, cancelled } from "./seen.js";

const url = process.env.POINTSMAN_SCRIPTED_URL;
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const whole = "Hello from the engine";
const weather = tool({
  description: "The weather in a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => "sun in " + city,
});

const providers = {
  "openai-compatible": createOpenAICompatible({ name: "pointsman", baseURL: url + "/v1", apiKey: "any" }),
  anthropic: createAnthropic({ baseURL: url + "/v1", apiKey: "any" }),
};

for (const [name, provider] of Object.entries(providers)) {
  test(`${name}: text, whole and streamed`, async () => {
    assert.equal((await generateText({ model: provider("agent"), prompt: "hi" })).text, whole);
    const stream = streamText({ model: provider("agent"), prompt: "hi" });
    let text = "";
    for await (const part of stream.textStream) text += part;
    assert.equal(text, whole);
  });

  for (const streamed of [false, true]) {
    test(`${name}: a tool, ${streamed ? "streamed" : "whole"}`, async () => {
      const request = {
        model: provider("agent"),
        prompt: "How is the weather in Basel?",
        tools: { weather },
        stopWhen: stepCountIs(3),
      };
      const text = streamed ? await streamText(request).text : (await generateText(request)).text;
      assert.match(text, /The tool says: .*sun in Basel/);
    });
  }

  test(`${name}: an image in base64`, async () => {
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image", image: pixel, mediaType: "image/png" },
    ];
    const answer = await generateText({ model: provider("agent"), messages: [{ role: "user", content }] });
    assert.equal(answer.text, `images of ${pixel.length} characters`);
  });

  test(`${name}: a stream that is aborted cancels the engine`, async () => {
    const path = name === "anthropic" ? "/v1/messages" : "/v1/chat/completions";
    const before = await begun(path);
    const abort = new AbortController();
    const stream = streamText({ model: provider("endless"), prompt: "hi", abortSignal: abort.signal });
    for await (const _ of stream.textStream) {
      abort.abort();
      break;
    }
    await cancelled(path, before);
  });

  test(`${name}: retries, and the error of a broken stream`, async () => {
    assert.equal((await generateText({ model: provider("flaky"), prompt: "hi", maxRetries: 3 })).text, whole);
    const errors = [];
    const stream = streamText({ model: provider("cut"), prompt: "hi", maxRetries: 0, onError: (e) => errors.push(e) });
    for await (const _ of stream.textStream);
    assert.equal(errors.length, 1);
    await assert.rejects(generateText({ model: provider("no-such-model"), prompt: "hi", maxRetries: 0 }), (error) => {
      assert.equal(error.statusCode, 404);
      assert.match(error.message, /no-such-model/);
      return true;
    });
  });
}
