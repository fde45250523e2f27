/**
 * Picks per second and their latency: in the built-in proxy, over HTTP for external proxies, and
 * through HAProxy.
 */
@NullMarked
package io.pointsman.tool.bench.picks;

import org.jspecify.annotations.NullMarked;
