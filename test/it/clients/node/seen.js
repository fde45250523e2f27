// The endless answers of the scripted engine. Test files run side by side, so all of a path must end.

import assert from "node:assert/strict";

async function endless(path) {
  const seen = await (await fetch(process.env.POINTSMAN_SCRIPTED_ENGINE + "/seen")).json();
  return seen.filter((each) => each.path === path && each.model === "endless");
}

// Number of endless answers that were begun on a path.
export async function begun(path) {
  return (await endless(path)).length;
}

// Waits until one more was begun, and the clients of all have left.
export async function cancelled(path, before) {
  const end = Date.now() + 60_000;
  for (;;) {
    const all = await endless(path);
    if (all.length > before && all.every((each) => each.left)) return;
    assert.ok(Date.now() < end, "the engine was not cancelled");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
