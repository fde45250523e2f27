/**
 * Benchmarks of requests that two workers serve, with the simulator: the choice of these requests,
 * the router's added delay, and the time saved by sending both requests at once.
 */
@NullMarked
package io.pointsman.tool.bench.split;

import org.jspecify.annotations.NullMarked;
