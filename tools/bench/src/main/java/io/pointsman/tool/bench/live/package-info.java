/**
 * Comparison of routers on equal requests and equal simulated engines, over sockets. It measures
 * with real routers the quantities that {@code replay} computes in simulated time. Engines and load
 * generator run in this process, each router in its own.
 */
@NullMarked
package io.pointsman.tool.bench.live;

import org.jspecify.annotations.NullMarked;
