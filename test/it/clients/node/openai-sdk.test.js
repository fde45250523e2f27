// The official OpenAI SDK for Node against the router and simulated engines.
// POINTSMAN_URL names the router, POINTSMAN_MODEL a model that its engines serve.

import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";

const model = process.env.POINTSMAN_MODEL;
const client = new OpenAI({
  baseURL: process.env.POINTSMAN_URL + "/v1",
  apiKey: "any",
  maxRetries: 0,
  timeout: 30_000,
});
const messages = [
  { role: "system", content: "Answer in one sentence." },
  { role: "user", content: "What does a pointsman do?" },
];

test("chat", async () => {
  const answer = await client.chat.completions.create({ model, messages, max_tokens: 8 });
  assert.equal(answer.choices[0].message.role, "assistant");
  assert.ok(answer.choices[0].message.content);
  assert.equal(answer.usage.completion_tokens, 8);
});

test("streaming chat", async () => {
  const stream = await client.chat.completions.create({
    model,
    messages,
    max_tokens: 8,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let usage = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  assert.ok(text);
  assert.equal(usage.completion_tokens, 8);
});

test("a stream that is aborted leaves the client usable", async () => {
  const stream = await client.chat.completions.create({ model, messages, max_tokens: 512, stream: true });
  for await (const _ of stream) break;
  const answer = await client.chat.completions.create({ model, messages, max_tokens: 2 });
  assert.ok(answer.choices.length);
});

test("completions", async () => {
  const answer = await client.completions.create({ model, prompt: "Once upon a", max_tokens: 5 });
  assert.ok(answer.choices[0].text);
  assert.equal(answer.usage.completion_tokens, 5);
});

test("embeddings", async () => {
  const answer = await client.embeddings.create({ model, input: ["one", "two"], encoding_format: "float" });
  assert.deepEqual(answer.data.map((e) => e.index), [0, 1]);
});

test("models", async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.ok(ids.includes(model));
});

test("an unknown model is not found", async () => {
  await assert.rejects(client.chat.completions.create({ model: "no-such-model", messages }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    assert.match(error.message, /no-such-model/);
    assert.ok(error.requestID);
    return true;
  });
});

test("a wrong body is a bad request", async () => {
  const answer = await fetch(process.env.POINTSMAN_URL + "/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"model": "${model}", "messages": [`,
  });
  assert.equal(answer.status, 400);
  const { error } = await answer.json();
  assert.equal(error.type, "invalid_request_error");
  assert.ok(error.message);
});
