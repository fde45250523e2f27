"use strict";

const EVERY_MILLIS = 2000;
const SHOWN = 50;

/** Texts for the reason of a choice. */
const REASONS = {
  random: "chosen at random",
  turn: "next in round robin",
  least_load: "fewest requests in flight",
  hash: "selected by the hash of the key",
  hash_spill: "next by the hash of the key: the first was full or not available",
  sticky_hit: "the session is bound to this worker",
  sticky_bind: "the session is now bound to this worker",
  sticky_move: "the session moved, because its worker had too much load",
  sticky_bypass: "the session's worker cannot serve this request",
  sticky_full: "the session table is full",
  prefix_hit: "longest cached prefix",
  prefix_miss: "no worker has enough cached; fewest requests in flight",
  least_cost: "lowest predicted cost",
  load_imbalance: "loads are unequal; fewest requests in flight",
  pinned: "only this worker can serve it",
  fallback: "the policy failed; fewest requests in flight",
};

/** Texts for the verdict on a candidate. */
const VERDICTS = {
  chosen: "chosen",
  out: "not available: unhealthy, draining, resting, stalled or full",
  tried: "already tried for this request",
  more_load: "about equal, but more requests in flight",
  chance: "equal, not selected at random",
  longer_wait: "longer wait",
  less_cached: "less of the prompt cached",
  slower: "slower, or busier with decoding",
  passed_over: "better, but not compared",
};

const opened = new Set();
let paused = false;

/** Creates an element with attributes and children. Texts are inserted as text, never as HTML. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...children);
  return made;
}

function cell(text, kind = "") {
  return element("td", kind ? { class: kind } : {}, text);
}

function number(value) {
  return value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

function millis(value) {
  return value === undefined ? "–" : `${number(value)} ms`;
}

function ago(age) {
  return age < 10_000 ? `${(age / 1000).toFixed(1)} s` : age < 600_000 ? `${number(age / 1000)} s` : `${number(age / 60_000)} min`;
}

function workerState(worker) {
  const out = ["draining", "stalled", "resting"].find((mark) => worker[mark]);
  if (worker.available) {
    return cell("available", "good");
  }
  return cell(out ?? (worker.health !== "healthy" ? worker.health : `breaker ${worker.breaker}`), "bad");
}

function workerRow(worker) {
  return element(
    "tr",
    { title: worker.url },
    cell(worker.id),
    workerState(worker),
    cell(worker.worker_type),
    cell((worker.models ?? []).join(", ")),
    cell(number(worker.in_flight), "number"),
    cell(number(worker.served), "number"),
    cell(number(worker.failures), "number"),
  );
}

function decisionRow(decision) {
  const expected = decision.expected;
  const measured = decision.measured;
  const shown = opened.has(decision.number);
  const toggle = element(
    "button",
    { type: "button", "aria-expanded": String(shown), "data-number": decision.number },
    decision.worker,
  );
  const row = element(
    "tr",
    { class: shown ? "decision open" : "decision" },
    cell(ago(decision.age_ms)),
    cell(decision.model ?? "–"),
    element("td", {}, toggle),
    cell(REASONS[decision.reason] ?? decision.reason),
    cell(number(measured.prompt_tokens ?? expected.prompt_tokens), "number"),
    cell(`${number(expected.cached_tokens)}, ${number(measured.cached_tokens)}`, "number"),
    cell(`${millis(expected.ttft_ms)}, ${millis(measured.ttft_ms)}`, "number"),
    cell(measured.outcome ?? "in flight", (measured.outcome ?? "").startsWith("failed") ? "bad" : ""),
  );
  row.addEventListener("click", () => {
    opened.has(decision.number) ? opened.delete(decision.number) : opened.add(decision.number);
    keepingFocus(() => {
      row.replaceWith(...decisionRows(decision));
      row.detail?.remove();
    });
  });
  return row;
}

/** The rows of a decision: the decision itself and, if it is open, its details. */
function decisionRows(decision) {
  const row = decisionRow(decision);
  if (!opened.has(decision.number)) {
    return [row];
  }
  row.detail = element("tr", { class: "detail" }, element("td", { colspan: "8" }, ...detail(decision)));
  return [row, row.detail];
}

/** Runs a change that replaces rows. The decision with the keyboard focus keeps it. */
function keepingFocus(change) {
  const number = document.activeElement?.dataset.number;
  change();
  if (number !== undefined) {
    document.querySelector(`button[data-number="${number}"]`)?.focus();
  }
}

function detail(decision) {
  const parts = [];
  const lost = Object.entries(decision.measured.lost_tokens ?? {});
  if (lost.length > 0) {
    const causes = lost.map(([reason, tokens]) => `${number(tokens)} ${reason.replaceAll("_", " ")}`);
    parts.push(element("p", { class: "note" }, `Prompt tokens not found in the cache: ${causes.join(", ")}.`));
  }
  parts.push(element("p", { class: "note" }, `Policy ${decision.policy}, role ${decision.role}. Total time: ${millis(decision.measured.e2e_ms)}.`));
  parts.push(decision.candidates.length > 0 ? candidates(decision.candidates) : element("p", { class: "empty" }, "This policy does not compare workers."));
  return parts;
}

function candidates(all) {
  const dearest = Math.max(...all.map((one) => one.cost_ms ?? 0));
  const predicts = dearest > 0;
  const titles = ["worker", "verdict", "in flight", ...(predicts ? ["cached", "to compute", "wait", "first token", "cost"] : [])];
  const head = titles.map((title, at) => element("th", at > 1 ? { class: "number" } : {}, title));
  const key = element("th", { class: "key" }, part("wait"), "wait", part("compute"), "own prompt", part("price"), "price on new work");
  const body = all.map((one) => candidateRow(one, dearest));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head, ...(predicts ? [key] : []))), element("tbody", {}, ...body));
}

function candidateRow(one, dearest) {
  const figures = [number(one.cached_tokens), number(one.uncached_tokens), millis(one.wait_ms), millis(one.predicted_ttft_ms), millis(one.cost_ms)];
  const row = element(
    "tr",
    { class: one.verdict },
    cell(one.worker),
    cell(VERDICTS[one.verdict] ?? one.verdict),
    cell(number(one.in_flight), "number"),
  );
  if (dearest > 0) {
    row.append(...figures.map((figure) => cell(figure, "number")), element("td", {}, bar(one, dearest)));
  }
  return row;
}

/** A bar with the components of a candidate's cost. */
function bar(one, dearest) {
  if (one.cost_ms === undefined) {
    return "";
  }
  const wait = Math.min(one.wait_ms, one.predicted_ttft_ms);
  const widths = { wait, compute: one.predicted_ttft_ms - wait, price: one.cost_ms - one.predicted_ttft_ms };
  const parts = Object.entries(widths).map(([kind, width]) => {
    const made = part(kind);
    made.style.width = `${Math.max(0, (100 * width) / dearest)}%`;
    return made;
  });
  return element("div", { class: "bar" }, ...parts);
}

function part(kind) {
  return element("span", { class: kind });
}

function show(id, rows, none, columns) {
  const empty = element("tr", {}, element("td", { class: "empty", colspan: String(columns) }, none));
  keepingFocus(() => document.getElementById(id).replaceChildren(...(rows.length > 0 ? rows : [empty])));
}

function say(text, failed = false) {
  const state = document.getElementById("state");
  if (state.textContent !== text) {
    state.textContent = text;
  }
  state.classList.toggle("failed", failed);
}

async function read(path) {
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  if (!answer.ok) {
    throw new Error(`${path}: ${answer.status}`);
  }
  return answer.json();
}

async function update() {
  const [workers, log] = await Promise.all([read("workers"), read(`decisions?limit=${SHOWN}`)]);
  show("workers", workers.workers.map(workerRow), "No workers.", 7);
  show("decisions", log.decisions.flatMap(decisionRows), "No explained decisions yet.", 8);
  const share = log.sample === 1 ? "all" : `${+(100 * log.sample).toPrecision(3)} %, at random`;
  say(`Explained decisions: ${share} (decisions.sample).`);
}

async function turn() {
  if (!paused) {
    await update().catch((failure) => say(String(failure.message), true));
  }
  setTimeout(turn, EVERY_MILLIS);
}

document.getElementById("pause").addEventListener("click", (event) => {
  paused = !paused;
  event.target.setAttribute("aria-pressed", String(paused));
  event.target.textContent = paused ? "Continue" : "Pause";
});
turn();
