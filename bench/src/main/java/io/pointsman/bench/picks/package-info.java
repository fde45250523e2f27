/**
 * Picks per second and their latency: in the built-in proxy, over HTTP for other planes, and
 * through a HAProxy that asks.
 */
@NullMarked
package io.pointsman.bench.picks;

import org.jspecify.annotations.NullMarked;
