// The SDKs of OpenAI and Anthropic for Node over TLS with a private CA (NODE_EXTRA_CA_CERTS), and Node's own client over
// HTTP/2 with a certificate (mTLS).

import assert from "node:assert/strict";
import fs from "node:fs";
import http2 from "node:http2";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const url = process.env.POINTSMAN_TLS_URL;
const files = process.env.POINTSMAN_CERTIFICATES;
const messages = [{ role: "user", content: "hi" }];
const options = { apiKey: "any", maxRetries: 0, timeout: 30_000 };
const ok = (name) => console.log("ok    ", name);

const openai = new OpenAI({ baseURL: url + "/v1", ...options });
assert.ok((await openai.chat.completions.create({ model: "agent", messages })).choices[0].message.content);
let text = "";
for await (const chunk of await openai.chat.completions.create({ model: "agent", messages, stream: true })) {
  text += chunk.choices[0]?.delta?.content ?? "";
}
assert.ok(text);
ok("OpenAI SDK for Node: TLS");

const anthropic = new Anthropic({ baseURL: url, ...options });
assert.ok((await anthropic.messages.create({ model: "agent", messages, max_tokens: 8 })).content[0].text);
ok("Anthropic SDK for Node: TLS");

const read = (name) => fs.readFileSync(`${files}/${name}`);
const session = http2.connect(process.env.POINTSMAN_MTLS_URL, {
  ca: read("ca.crt"),
  cert: read("client.crt"),
  key: read("client.key"),
});
const answers = await Promise.all(
  Array.from({ length: 20 }, async () => {
    const stream = session.request({ ":method": "POST", ":path": "/v1/chat/completions", "content-type": "application/json" });
    stream.end(JSON.stringify({ model: "agent", messages }));
    let status;
    stream.on("response", (headers) => (status = headers[":status"]));
    let body = "";
    for await (const part of stream) body += part;
    return { status, body };
  }),
);
session.close();
for (const { status, body } of answers) {
  assert.equal(status, 200);
  assert.ok(JSON.parse(body).choices[0].message.content);
}
ok("Node over HTTP/2 with a certificate, 20 requests at once");
