package io.pointsman.engine.fleet;

/**
 * The least and the greatest load among the eligible workers of a pool.
 *
 * @param least requests in flight on the least loaded worker
 * @param most requests in flight on the most loaded worker
 */
public record LoadRange(int least, int most) {}
