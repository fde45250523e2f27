/**
 * Picks per second and their latency: in the built-in proxy, over HTTP for external proxies, and
 * through HAProxy.
 */
@NullMarked
package io.pointsman.bench.picks;

import org.jspecify.annotations.NullMarked;
