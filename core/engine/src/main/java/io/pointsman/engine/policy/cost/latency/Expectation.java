package io.pointsman.engine.policy.cost.latency;

/**
 * The expected time of a request's first token. Times are in milliseconds.
 *
 * @param ttft from the placement to the first token
 * @param own the part of it for the request's own prompt
 * @param delay the part of it that prompts do not explain ({@link PoolModel#delay})
 * @param phase the worker's activity at the placement
 * @param waitsForRoom true if the prompt must wait for KV memory
 */
public record Expectation(
    double ttft, double own, double delay, WorkerPhase phase, boolean waitsForRoom) {}
