"use strict";

const EVERY_MILLIS = 2000;
const HOUR_EVERY_MILLIS = 10_000;
const SHOWN = 100;
const MOST_WORKERS = 200;
const SVG = "http://www.w3.org/2000/svg";
const NONE = "–";

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

/** Texts for the causes of cache misses. */
const CAUSES = {
  never_seen: "new text, or forgotten by the router",
  evicted: "evicted from the engine's cache",
  worker_gone: "the worker with them left, restarted or cannot serve",
  load: "cached on another worker, which was busier",
  other_salt: "known only for another model, adapter or salt",
  new_worker: "cached on another worker; the chosen one joined recently",
  tokens_differ: "not found where expected: template or tokenizer differ, or no prefix cache",
};

const opened = new Set();
const times = new Map();

/** Key of the admin listener: only in this variable, never stored. */
let key = "";
let paused = false;
let decides = true;
let turnTimer = 0;
let turns = 0;
let hourAt = 0;

const by = (id) => document.getElementById(id);

/** Creates an element with attributes and children. Texts are inserted as text, never as HTML. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([attribute, value]) => made.setAttribute(attribute, value));
  made.append(...children);
  return made;
}

/** A cell; its label is shown on small screens. */
function cell(label, content, kind = "") {
  const children = Array.isArray(content) ? [element("div", {}, ...content)] : [content];
  return element("td", { role: "cell", "data-label": label, ...(kind ? { class: kind } : {}) }, ...children);
}

function row(attributes, ...cells) {
  return element("tr", { role: "row", ...attributes }, ...cells);
}

function known(value) {
  return value !== undefined && value !== null;
}

function number(value, digits = 0) {
  return known(value) ? value.toLocaleString("en", { maximumFractionDigits: digits }) : NONE;
}

/** A rate: small ones with digits after the point. */
function rate(value) {
  return number(value, value < 1 ? 2 : value < 100 ? 1 : 0);
}

function millis(value) {
  if (!known(value)) {
    return NONE;
  }
  return value < 10_000 ? `${number(value, value < 10 ? 1 : 0)} ms` : `${number(value / 1000, 1)} s`;
}

function percent(value) {
  return known(value) ? `${number(100 * value, 0)} %` : NONE;
}

function median(values) {
  const sorted = values.filter(known).sort((a, b) => a - b);
  return sorted.length === 0 ? undefined : sorted[Math.floor((sorted.length - 1) / 2)];
}

/** The time of an event that is `age` milliseconds old; the first answer for a name is kept. */
function timeOf(name, age) {
  if (!times.has(name)) {
    if (times.size > 20_000) {
      times.clear();
    }
    times.set(name, new Date(Date.now() - age).toLocaleTimeString([], { hour12: false }));
  }
  return times.get(name);
}

/**
 * Shows items as rows. A row with the same content stays, with its focus and selection; the
 * control with the keyboard focus keeps it in a new row.
 */
function show(id, items, name, make, none) {
  const body = by(id);
  const before = new Map([...body.children].map((each) => [each.dataset.name, each]));
  const focus = body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const rows = items.map((item) => {
    const text = JSON.stringify(item);
    const old = before.get(name(item));
    if (old && old.item === text) {
      return old;
    }
    const made = make(item);
    made.dataset.name = name(item);
    made.item = text;
    return made;
  });
  if (rows.length === 0) {
    const columns = body.parentElement.querySelectorAll("thead th").length;
    rows.push(row({}, element("td", { role: "cell", class: "empty whole", colspan: String(columns) }, none)));
  }
  if (rows.length !== body.children.length || rows.some((each, at) => each !== body.children[at])) {
    body.replaceChildren(...rows);
  }
  if (focus !== undefined && document.activeElement === document.body) {
    body.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }
}

// Fleet

/** What a worker still does: requests in flight, and responses in the background. */
function remaining(worker) {
  const parts = [];
  if (worker.in_flight > 0) {
    parts.push(`${number(worker.in_flight)} requests in flight`);
  }
  if (worker.background > 0) {
    parts.push(`${number(worker.background)} responses in the background`);
  }
  return parts.join(", ");
}

/** The state of a worker: a word, how good it is, and the reason. */
function stateOf(worker) {
  const left = remaining(worker) || "empty";
  if (worker.cordoned) {
    return [worker.drained ? "drained" : "cordoned", "warn", `gets no new requests; ${left}`];
  }
  if (worker.draining) {
    return ["draining", "warn", `leaves or shuts down; ${left}`];
  }
  if (worker.health !== "healthy") {
    return [worker.health, worker.health === "unknown" ? "warn" : "bad", worker.reason];
  }
  if (worker.asleep) {
    return ["asleep", "warn", "its engine sleeps or is paused"];
  }
  if (worker.breaker !== "closed") {
    return [`breaker ${worker.breaker.replaceAll("_", " ")}`, "bad", "its requests failed"];
  }
  if (worker.stalled) {
    return ["stalled", "bad", "its requests make no progress"];
  }
  if (worker.resting) {
    return ["resting", "warn", "the engine asked for a pause (429 or 503)"];
  }
  if (worker.max_in_flight > 0 && worker.in_flight >= worker.max_in_flight) {
    return ["full", "warn", "at its limit (max-in-flight)"];
  }
  return worker.available ? ["available", "good", ""] : ["not available", "bad", worker.reason];
}

function workerRow(item) {
  const { worker, figures } = item;
  const [word, kind, reason] = stateOf(worker);
  const limit = worker.max_in_flight > 0 ? ` of ${number(worker.max_in_flight)}` : "";
  const about = [worker.worker_type, (worker.models ?? []).join(", ")].filter((text) => text).join(" · ");
  const weight = worker.weight === undefined || worker.weight === 1 ? "" : ` · weight ${worker.weight}`;
  return row(
    { title: worker.url },
    cell("worker", [worker.id, element("span", { class: "sub" }, about + weight)], "head text"),
    cell("state", [element("span", { class: `badge ${kind}` }, word), element("span", { class: "sub" }, reason ?? "")], "text"),
    cell("breaker", worker.breaker ? [worker.breaker.replaceAll("_", " "), ...(worker.breaker_openings > 0 ? [` (opened ${number(worker.breaker_openings)} times)`] : [])] : NONE),
    cell("in flight", `${number(worker.in_flight)}${limit}`, "number"),
    cell("engine queue", queueOf(worker), "number"),
    cell("tokens/s", rate(figures.tokens_per_second), "number"),
    cell("TTFT p50, p99", `${millis(figures.ttft_p50_ms)}, ${millis(figures.ttft_p99_ms)}`, "number"),
    cell("hits predicted, reported", `${percent(figures.predicted_hits)}, ${percent(figures.reported_hits)}`, "number"),
    cell("share of requests", [percent(figures.share), meter(figures.share ?? 0)]),
    cell("served, failed", [number(worker.served), ", ", element("span", worker.failures > 0 ? { class: "bad" } : {}, number(worker.failures))], "number"),
    cell("actions", actions(worker), "actions whole"),
  );
}

/** Waiting requests as the engine reports them (engine-load.interval). */
function queueOf(worker) {
  return worker.engine?.reported ? number(worker.engine.waiting) : NONE;
}

function meter(share) {
  const inner = element("span", {});
  inner.style.width = `${Math.min(100, 100 * share)}%`;
  return element("span", { class: "meter", "aria-hidden": "true" }, inner);
}

function actions(worker) {
  if (worker.cordoned === undefined) {
    return [NONE];
  }
  return worker.cordoned
    ? [action(worker, "uncordon", "Uncordon"), ...(worker.drained ? [] : [action(worker, "drain", "Drain")])]
    : [action(worker, "cordon", "Cordon"), action(worker, "drain", "Drain")];
}

function action(worker, verb, text) {
  const made = element("button", { type: "button", "aria-label": `${text} ${worker.id}`, "data-key": `${verb} ${worker.id}` }, text);
  made.addEventListener("click", () => act(worker, verb));
  return made;
}

async function act(worker, verb) {
  const others = lastWorkers.some((each) => each.available && each.id !== worker.id && each.worker_type === worker.worker_type);
  if (verb !== "uncordon" && worker.available && !others && !window.confirm(`${worker.id} is the last available ${worker.worker_type} worker. Requests will be refused. ${verb} it?`)) {
    return;
  }
  try {
    const path = `workers/${encodeURIComponent(worker.id)}/${verb}${verb === "drain" ? "?wait=0" : ""}`;
    const done = await call(path, { method: "POST" });
    const left = remaining(done) && `, ${remaining(done)}`;
    report(`${worker.id} is ${{ cordon: "cordoned", uncordon: "uncordoned", drain: done.drained ? "drained" : "draining" }[verb]}${left}.`);
    await update();
    // The clicked button may be gone: the focus goes to the other action of the worker.
    if (document.activeElement === document.body) {
      by("workers").querySelector(`[data-name="${CSS.escape(worker.id)}"] button`)?.focus();
    }
  } catch (failure) {
    report(`${verb} ${worker.id}: ${failure.message}`, true);
  }
}

function report(text, failed = false) {
  by("done").textContent = text;
  by("done").classList.toggle("failed", failed);
}

let lastWorkers = [];
let lastActivity = {};

function showFleet(workers, activity) {
  lastWorkers = workers;
  lastActivity = activity;
  const figures = new Map((activity.workers ?? []).map((each) => [each.id, each]));
  const text = by("fleet-filter").value.trim().toLowerCase();
  const all = workers.map((worker) => ({ worker, figures: figures.get(worker.id) ?? {} }));
  const found = all.filter(({ worker }) => [worker.id, worker.url, worker.worker_type, ...(worker.models ?? []), ...stateOf(worker)].some((each) => String(each).toLowerCase().includes(text)));
  // Workers with a problem come first; the order of the others stays.
  const rank = ({ worker }) => ["bad", "warn", "good"].indexOf(stateOf(worker)[1]);
  const items = (found.length > MOST_WORKERS ? found.sort((a, b) => rank(a) - rank(b)) : found).slice(0, MOST_WORKERS);
  const available = workers.filter((worker) => worker.available).length;
  const more = found.length > items.length ? `, ${number(found.length - items.length)} more are not shown` : "";
  by("fleet-note").textContent = `${number(available)} of ${number(workers.length)} available${more}`;
  by("fleet-note").classList.toggle("bad", available < workers.length);
  document.title = available < workers.length ? `(${workers.length - available} out) Pointsman` : "Pointsman";
  show("workers", items, (item) => item.worker.id, workerRow, text ? "No worker matches." : "No workers. Add some with --workers, a configuration file or discovery.");
}

function showTotals(activity) {
  const errors = activity.errors_per_second ?? 0;
  const totals = [
    ["requests/s", rate(activity.requests_per_second)],
    ["errors/s", rate(errors), errors > 0 ? "bad" : ""],
    ["tokens/s", rate(activity.tokens_per_second)],
    ["TTFT p50", millis(activity.ttft_p50_ms)],
    ["TTFT p99", millis(activity.ttft_p99_ms)],
    ["in flight", number(activity.in_flight)],
    ["waiting", number(activity.waiting)],
    ["hits reported", percent(activity.reported_hits)],
  ];
  by("totals").replaceChildren(
    ...totals.map(([name, value, kind]) => element("div", kind ? { class: kind } : {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

// Decisions

/** Joins the prefill and the decode decision of a request. */
function joined(decisions) {
  const prefills = new Map();
  decisions
    .filter((one) => one.role === "prefill" && known(one.request_id))
    .forEach((one) => prefills.set(one.request_id, prefills.get(one.request_id) ?? one));
  const used = new Set();
  const items = decisions.map((one) => {
    const prefill = one.role === "decode" ? prefills.get(one.request_id) : undefined;
    if (!prefill || used.has(prefill.number)) {
      return { decision: one };
    }
    used.add(prefill.number);
    return { decision: one, prefill };
  });
  return items.filter((item) => !used.has(item.decision.number));
}

function wanted({ decision, prefill }) {
  const outcome = decision.measured.outcome ?? "open";
  const result = by("result").value;
  const reason = by("reason").value;
  const lost = [decision, prefill].some((one) => one && lostBy(one).length > 0);
  return (
    (result === "" || (result === "lost" ? lost : outcome.startsWith(result))) &&
    (reason === "" || decision.reason === reason || prefill?.reason === reason)
  );
}

/** Tokens that a cache could have had, with the cause. Text that nobody has seen is not lost. */
function lostBy(decision) {
  return Object.entries(decision.measured.lost_tokens ?? {}).filter(([cause]) => cause !== "never_seen");
}

/** Rows of one decision: with its details if it is open. */
function decisionRow(item) {
  const { decision, prefill } = item;
  const computed = prefill ?? decision;
  const { expected, measured } = computed;
  const name = String(decision.number);
  const id = decision.request_id ?? `#${decision.number}`;
  const toggle = element("button", { type: "button", "aria-expanded": String(item.open), "data-key": `open ${name}`, "aria-label": `Details of ${id}`, title: id }, id);
  toggle.addEventListener("click", () => {
    opened.has(name) ? opened.delete(name) : opened.add(name);
    showDecisions();
  });
  const outcome = decision.measured.outcome ?? "in flight";
  const lost = lostBy(computed).reduce((sum, [, tokens]) => sum + tokens, 0);
  return row(
    { class: item.open ? "decision open" : "decision" },
    cell("time", timeOf(name, decision.age_ms)),
    cell("request", toggle, "text head"),
    cell("session", decision.session ?? NONE, "text"),
    cell("model", decision.model ?? NONE, "text"),
    cell("worker", prefill ? `${prefill.worker} → ${decision.worker}` : decision.worker, "text"),
    cell("reason", prefill ? `prefill: ${reasonOf(prefill)}; decode: ${reasonOf(decision)}` : reasonOf(decision), "text"),
    cell("prompt tokens", number(measured.prompt_tokens ?? expected.prompt_tokens), "number"),
    cell("cached: expected, actual", [`${number(expected.cached_tokens)}, ${number(measured.cached_tokens)}`, ...(lost > 0 ? [element("span", { class: "sub warn" }, `${number(lost)} missed`)] : [])], "number"),
    cell("first token: expected, actual", `${millis(expected.ttft_ms)}, ${millis(decision.measured.ttft_ms ?? measured.ttft_ms)}`, "number"),
    cell("result", outcome.replaceAll("_", " "), outcome.startsWith("failed") ? "bad" : ""),
  );
}

function reasonOf(decision) {
  return REASONS[decision.reason] ?? decision.reason;
}

function detailRow(item) {
  const parts = [item.prefill, item.decision].filter((one) => one).flatMap((one) => detail(one, item.prefill !== undefined));
  return row({ class: "detail" }, element("td", { role: "cell", class: "whole", colspan: "10" }, ...parts));
}

function detail(decision, named) {
  const parts = [];
  if (named) {
    parts.push(element("h3", {}, `${decision.role}: ${decision.worker}`));
  }
  const lost = Object.entries(decision.measured.lost_tokens ?? {});
  if (lost.length > 0) {
    const causes = lost.map(([cause, tokens]) => `${number(tokens)} ${CAUSES[cause] ?? cause}`);
    parts.push(element("p", { class: "note" }, `Prompt tokens that the engine computed: ${causes.join("; ")}.`));
  }
  parts.push(
    element("p", { class: "note" }, `Policy ${decision.policy}, role ${decision.role}. Output: ${number(decision.measured.completion_tokens)} tokens. Total time: ${millis(decision.measured.e2e_ms)}.`),
  );
  parts.push(candidates(decision.candidates, decision.policy));
  return parts;
}

function candidates(all, policy) {
  if (!all || all.length === 0) {
    return element("p", { class: "empty" }, `The policy ${policy} does not compare workers by estimates.`);
  }
  const dearest = Math.max(...all.map((one) => one.cost_ms ?? 0));
  const predicts = dearest > 0;
  const titles = ["worker", "verdict", "in flight", ...(predicts ? ["cached", "to compute", "wait", "first token", "cost"] : [])];
  const head = titles.map((title, at) => element("th", { scope: "col", ...(at > 1 ? { class: "number" } : {}) }, title));
  const legend = element("th", { class: "key", scope: "col" }, part("wait"), "wait", part("compute"), "own prompt", part("price"), "price on new work");
  const body = all.map((one) => candidateRow(one, dearest));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head, ...(predicts ? [legend] : []))), element("tbody", {}, ...body));
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Candidates" }, table);
}

function candidateRow(one, dearest) {
  const figures = [number(one.cached_tokens), number(one.uncached_tokens), millis(one.wait_ms), millis(one.predicted_ttft_ms), millis(one.cost_ms)];
  const made = element(
    "tr",
    { class: one.verdict },
    element("td", {}, one.worker),
    element("td", {}, VERDICTS[one.verdict] ?? one.verdict),
    element("td", { class: "number" }, number(one.in_flight)),
  );
  if (dearest > 0) {
    made.append(...figures.map((figure) => element("td", { class: "number" }, figure)), element("td", {}, bar(one, dearest)));
  }
  return made;
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
  return element("div", { class: "bar", "aria-hidden": "true" }, ...parts);
}

function part(kind) {
  return element("span", { class: kind });
}

let lastLog = { decisions: [] };

function showDecisions() {
  const all = joined(lastLog.decisions);
  const items = all.filter(wanted).flatMap((item) => {
    const open = opened.has(String(item.decision.number));
    // The age changes with each call, and the time of a decision does not.
    const still = JSON.parse(JSON.stringify({ ...item, open }));
    timeOf(String(item.decision.number), item.decision.age_ms);
    [still.decision, still.prefill].filter((one) => one).forEach((one) => delete one.age_ms);
    return open ? [still, { ...still, details: true }] : [still];
  });
  const filtered = by("search").value !== "" || by("reason").value !== "" || by("result").value !== "";
  show(
    "decisions",
    items,
    (item) => item.decision.number + (item.details ? " details" : ""),
    (item) => (item.details ? detailRow(item) : decisionRow(item)),
    filtered ? "No kept decision matches." : "No explained decisions yet.",
  );
  showPairs(all);
}

function showPairs(all) {
  const pairs = new Map();
  all
    .filter((item) => item.prefill)
    .forEach((item) => {
      const name = `${item.prefill.worker} → ${item.decision.worker}`;
      const pair = pairs.get(name) ?? { name, prefill: item.prefill.worker, decode: item.decision.worker, items: [] };
      pair.items.push(item);
      pairs.set(name, pair);
    });
  by("pairs-part").hidden = pairs.size === 0;
  const rows = [...pairs.values()].map((pair) => ({
    name: pair.name,
    prefill: pair.prefill,
    prefillState: stateNamed(pair.prefill),
    decode: pair.decode,
    decodeState: stateNamed(pair.decode),
    requests: pair.items.length,
    first: median(pair.items.map((item) => item.prefill.measured.e2e_ms)),
    token: median(pair.items.map((item) => item.decision.measured.ttft_ms)),
    total: median(pair.items.map((item) => item.decision.measured.e2e_ms)),
    failed: pair.items.filter((item) => [item.prefill, item.decision].some((one) => (one.measured.outcome ?? "").startsWith("failed"))).length,
  }));
  rows.sort((a, b) => b.requests - a.requests);
  show(
    "pairs",
    rows,
    (pair) => pair.name,
    (pair) =>
      row(
        {},
        cell("prefill", workerName(pair.prefill, pair.prefillState), "text"),
        cell("decode", workerName(pair.decode, pair.decodeState), "text"),
        cell("requests", number(pair.requests), "number"),
        cell("prefill, first token, total (median)", `${millis(pair.first)}, ${millis(pair.token)}, ${millis(pair.total)}`, "number"),
        cell("failed", number(pair.failed), pair.failed > 0 ? "number bad" : "number"),
      ),
    "No pairs.",
  );
}

function stateNamed(id) {
  const worker = lastWorkers.find((each) => each.id === id);
  return worker ? stateOf(worker).slice(0, 2) : ["left", "bad"];
}

function workerName(id, [word, kind]) {
  return [id, element("span", { class: "sub" }, element("span", { class: `badge ${kind}` }, word))];
}

function showSampled(log) {
  const share = log.sample === 1 ? "All decisions are" : log.sample === 0 ? "No decisions are" : `${+(100 * log.sample).toPrecision(3)} % of the decisions, and up to 2 more in a second, are`;
  by("sampled").textContent = `Newest first. ${share} explained (decisions.sample); ${number(log.keep)} are kept.`;
}

// Cache misses, shadow policy

function showLost(activity) {
  const all = activity.prompt_tokens ?? 0;
  const lost = Object.entries(activity.lost_tokens ?? {}).filter(([, tokens]) => tokens > 0);
  by("lost-note").textContent = activity.lost_tokens
    ? `Since the start: ${number(all)} prompt tokens, ${percent(all > 0 ? activity.cached_tokens / all : undefined)} found in caches.`
    : `The policy ${activity.policy ?? ""} makes no predictions, so causes are unknown. The policy cost names them.`;
  lost.sort((a, b) => b[1] - a[1]);
  show(
    "causes",
    lost.map(([cause, tokens]) => ({ cause, tokens, share: all > 0 ? tokens / all : 0 })),
    (item) => item.cause,
    (item) =>
      row(
        {},
        cell("cause", [item.cause.replaceAll("_", " "), element("span", { class: "sub" }, CAUSES[item.cause] ?? "")], "text"),
        cell("prompt tokens", number(item.tokens), "number"),
        cell("share of all prompt tokens", [percent(item.share), meter(item.share)]),
      ),
    "None.",
  );
}

function showShadow(report) {
  by("shadow-part").hidden = false;
  const both = report.active.requests;
  by("shadow-note").textContent = `Same worker for ${percent(both > 0 ? report.agreed / both : undefined)} of the requests. Left out: ${number(report.dropped)}. Failures: ${number(report.failures)}.`;
  show(
    "shadow",
    [
      { ...report.active, side: "active" },
      { ...report.shadow, side: "shadow" },
    ],
    (item) => item.side,
    (item) =>
      row(
        {},
        cell("policy", [item.policy, element("span", { class: "sub" }, item.side)], "head"),
        cell("requests", number(item.requests), "number"),
        cell("expected hits", percent(item.expected_hit), "number"),
        cell("expected first token", millis(item.expected_ttft_ms), "number"),
        cell("imbalance", number(item.imbalance, 2), "number"),
      ),
    "",
  );
}

// Charts

const CHARTS = [
  { title: "Requests per second", format: rate, lines: [["requests_per_second", "requests"], ["errors_per_second", "errors"]] },
  { title: "Tokens per second", format: rate, lines: [["tokens_per_second", "tokens"]] },
  { title: "Time to first token", format: millis, lines: [["ttft_p50_ms", "p50"], ["ttft_p99_ms", "p99"]] },
  { title: "Requests in flight", format: number, lines: [["in_flight", "in flight"]] },
];

function svg(name, attributes) {
  const made = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([attribute, value]) => made.setAttribute(attribute, value));
  return made;
}

/** The smallest round number that is not less than the value. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((each) => each >= value * 0.999) ?? value;
}

function showHour(hour) {
  const points = hour.points;
  const oldest = points.length > 0 ? points[0].age_ms : 0;
  const span = Math.min(3_600_000, Math.max(300_000, Math.ceil(oldest / 300_000) * 300_000));
  by("charts").replaceChildren(...CHARTS.map((chart) => figure(chart, points, span, hour.step_ms)));
  const rows = points.filter((_, at) => (points.length - 1 - at) % 30 === 0).reverse();
  show(
    "points",
    rows.map((point) => ({ ...point, time: new Date(Date.now() - point.age_ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false }) })),
    (point) => point.time,
    (point) =>
      row(
        {},
        cell("time", point.time, "head"),
        cell("requests/s", rate(point.requests_per_second), "number"),
        cell("errors/s", rate(point.errors_per_second), "number"),
        cell("tokens/s", rate(point.tokens_per_second), "number"),
        cell("TTFT p50", millis(point.ttft_p50_ms), "number"),
        cell("TTFT p99", millis(point.ttft_p99_ms), "number"),
        cell("in flight", number(point.in_flight), "number"),
      ),
    "No figures yet: the first comes after ten seconds.",
  );
}

function figure(chart, points, span, step) {
  const values = points.flatMap((point) => chart.lines.map(([field]) => point[field]).filter(known));
  const highest = Math.max(0, ...values);
  const top = highest > 0 ? ceiling(highest) : 1;
  const x = (point) => (600 * (span - point.age_ms)) / span;
  const y = (value) => 116 - (112 * value) / top;
  const last = points[points.length - 1] ?? {};
  const minutes = Math.round(span / 60_000);
  const said = chart.lines.map(([field, name]) => `${name} ${chart.format(last[field])}`).join(", ");
  const label = `${chart.title} over the last ${minutes} minutes. Now: ${said}. Highest: ${chart.format(values.length > 0 ? highest : undefined)}.`;
  const plot = svg("svg", { viewBox: "0 0 600 120", preserveAspectRatio: "none", role: "img", "aria-label": label });
  [0, 0.5, 1].forEach((share) => plot.append(svg("line", { class: "grid", x1: 0, x2: 600, y1: y(share * top), y2: y(share * top) })));
  chart.lines.forEach(([field], at) => plot.append(svg("path", { class: at === 0 ? "line" : "line second", d: path(points, field, x, y, step) })));
  const legend = chart.lines.length > 1 ? chart.lines.flatMap(([, name], at) => [element("span", { class: at === 0 ? "swatch" : "swatch second" }), name]) : [];
  const now = element("span", { class: "now" }, said);
  const axis = element("div", { class: "axis", "aria-hidden": "true" }, element("span", {}, `${minutes} min ago`), element("span", {}, ...legend), element("span", {}, "now"));
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const age = span * (1 - (event.clientX - box.left) / box.width);
    const near = points.reduce((best, point) => (Math.abs(point.age_ms - age) < Math.abs(best.age_ms - age) ? point : best), last);
    if (known(near.age_ms)) {
      const time = new Date(Date.now() - near.age_ms).toLocaleTimeString([], { hour12: false });
      now.textContent = `${time}: ${chart.lines.map(([field, name]) => `${name} ${chart.format(near[field])}`).join(", ")}`;
    }
  });
  plot.addEventListener("pointerleave", () => (now.textContent = said));
  return element(
    "figure",
    {},
    element("figcaption", {}, element("strong", {}, chart.title), now),
    element("div", { class: "plot" }, plot, element("span", { class: "top", "aria-hidden": "true" }, chart.format(top))),
    axis,
  );
}

/** A path through the points that have the field; a gap where points are missing. */
function path(points, field, x, y, step) {
  let before = null;
  return points
    .filter((point) => known(point[field]))
    .map((point) => {
      const joins = before !== null && before.age_ms - point.age_ms < 3 * step;
      before = point;
      const at = `${x(point).toFixed(1)} ${y(point[field]).toFixed(1)}`;
      // A path of no length shows as a dot.
      return joins ? `L${at}` : `M${at}L${at}`;
    })
    .join("");
}

// Explain

/** Reads lines of "name: value"; throws with the number of a line that is none. */
function headersOf(text) {
  const headers = {};
  text.split("\n").forEach((line, at) => {
    const colon = line.indexOf(":");
    if (line.trim() === "") {
      return;
    }
    if (colon < 1) {
      throw new Error(`Headers, line ${at + 1}: ${line} (expected: name: value)`);
    }
    const name = line.slice(0, colon).trim().toLowerCase();
    headers[name] = [...(headers[name] ?? []), line.slice(colon + 1).trim()];
  });
  return headers;
}

async function explain() {
  const answer = by("answer");
  try {
    const question = { path: by("path").value.trim(), headers: headersOf(by("headers").value), body: by("body").value, dry_run: true, alternatives: 3 };
    const found = await call("v1/decide", { method: "POST", body: JSON.stringify(question) });
    answer.replaceChildren(...explained(found));
  } catch (failure) {
    const verdict = failure.status === undefined || failure.status === 401 ? failure.message : `It would be refused with ${failure.status}: ${failure.message}`;
    answer.replaceChildren(element("p", { class: "verdict bad" }, verdict));
  }
}

function explained(found) {
  const why = found.explanation;
  const where = found.prefill ? `prefill on ${found.prefill.id}, decode on ${found.decode.id}` : `${found.worker.id} (${found.worker.url})`;
  const facts = [
    ["why", REASONS[why.reason] ?? why.reason],
    ["policy", why.policy],
    ["model", why.model ?? "none named"],
    ["session or key", why.affinity ?? "none"],
    ["split", found.split?.replaceAll("_", " ")],
    ["prompt", `${number(why.prompt_tokens)} tokens, ${number(why.cached_tokens)} expected in its cache`],
    ["first token expected", known(why.predicted_ttft_ms) ? millis(why.predicted_ttft_ms) : undefined],
    ["in flight there", `${number(why.loads.chosen)}${known(why.loads.least) ? ` (fleet: ${number(why.loads.least)} to ${number(why.loads.most)})` : ""}`],
    ["next choices", found.alternatives.map((each) => each.id).join(", ") || "none"],
  ].filter(([, value]) => known(value));
  const parts = [
    element("p", { class: "verdict" }, "It would go to ", element("strong", {}, where), "."),
    element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
  ];
  if (found.prefill_explanation) {
    parts.push(element("h3", {}, "Prefill"), candidates(found.prefill_explanation.candidates, found.prefill_explanation.policy), element("h3", {}, "Decode"));
  }
  parts.push(candidates(why.candidates, why.policy));
  return parts;
}

// Calls

function say(text, failed = false) {
  const state = by("state");
  if (state.textContent !== text) {
    state.textContent = text;
  }
  state.classList.toggle("failed", failed);
}

/** Calls a path of this listener. The key goes only into the header. */
async function call(path, options = {}) {
  const headers = { accept: "application/json" };
  if (key) {
    headers.authorization = `Bearer ${key}`;
  }
  if (options.body) {
    headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch {
    throw new Error("the router does not answer");
  }
  const text = await answer.text();
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: text.slice(0, 200) };
  }
  if (!answer.ok) {
    const failure = new Error(body.error?.message ?? body.error ?? `${path}: ${answer.status}`);
    failure.status = answer.status;
    if (answer.status === 401) {
      askForKey();
    }
    throw failure;
  }
  return body;
}

function askForKey() {
  const form = by("key-form");
  const note = by("key-note");
  if (key) {
    note.textContent = "This key is not accepted.";
    note.classList.add("failed");
    key = "";
    by("forget").hidden = true;
  }
  if (form.hidden) {
    form.hidden = false;
    by("key").focus();
  }
}

async function update() {
  const search = encodeURIComponent(by("search").value.trim());
  const [workers, activity, log] = await Promise.all([
    call("workers"),
    call("activity"),
    call(`decisions?limit=${SHOWN}${search ? `&search=${search}` : ""}`),
  ]);
  if (by("key-form").contains(document.activeElement)) {
    by("fleet").focus({ preventScroll: true });
  }
  by("key-form").hidden = true;
  by("forget").hidden = key === "";
  showTotals(activity);
  showFleet(workers.workers, activity);
  lastLog = log;
  showDecisions();
  showSampled(log);
  showLost(activity);
  if (activity.decides !== decides) {
    decides = activity.decides;
    by("explain-form").hidden = !decides;
    by("explain-note").textContent = "Off: the decision service is switched off (decide.enabled).";
  }
  if (activity.shadow_policy) {
    showShadow(await call("shadow"));
  }
  if (Date.now() - hourAt >= HOUR_EVERY_MILLIS) {
    hourAt = Date.now();
    showHour(await call("activity/hour"));
  }
  say(`Policy ${activity.policy}, ${number(workers.workers.length)} workers. Figures are of the last ${number(activity.seconds)} s.`);
}

/** One update, and the next one after a pause. A further call replaces the one in progress. */
async function turn() {
  clearTimeout(turnTimer);
  const mine = ++turns;
  if (!paused && !document.hidden && (by("key-form").hidden || key)) {
    await update().catch((failure) => say(failure.message, true));
  }
  if (mine === turns) {
    turnTimer = setTimeout(turn, EVERY_MILLIS);
  }
}

by("pause").addEventListener("click", (event) => {
  paused = !paused;
  event.target.setAttribute("aria-pressed", String(paused));
  event.target.textContent = paused ? "Continue" : "Pause";
  say(paused ? "Paused." : "Loading ...");
  turn();
});

by("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = by("key").value.trim();
  by("key").value = "";
  by("key-note").textContent = "It stays in the memory of this page until you close or reload it.";
  by("key-note").classList.remove("failed");
  turn();
});

by("forget").addEventListener("click", () => {
  key = "";
  by("forget").hidden = true;
  turn();
});

by("explain-form").addEventListener("submit", (event) => {
  event.preventDefault();
  explain();
});

["filters", "fleet-filters"].forEach((id) => by(id).addEventListener("submit", (event) => event.preventDefault()));
by("fleet-filter").addEventListener("input", () => showFleet(lastWorkers, lastActivity));
by("search").addEventListener("input", () => turn());
["reason", "result"].forEach((id) => by(id).addEventListener("change", showDecisions));
Object.entries(REASONS).forEach(([reason]) => by("reason").append(element("option", { value: reason }, reason.replaceAll("_", " "))));
document.addEventListener("visibilitychange", () => turn());
turn();
