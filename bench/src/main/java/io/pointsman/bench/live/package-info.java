/**
 * Routers side by side on the same requests in front of the same simulated engines, over sockets:
 * what {@code replay} computes in simulated time, with the routers themselves. The engines and the
 * generator run in this process, each router in one of its own.
 */
@NullMarked
package io.pointsman.bench.live;

import org.jspecify.annotations.NullMarked;
