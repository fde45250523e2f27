/**
 * Routers and proxies side by side: the same backend and the same load, one contender after the
 * other. The backend and the load generator are native ({@code bench/native}); here is what starts
 * them, measures the contender's process and reports.
 */
@NullMarked
package io.pointsman.bench.proxies;

import org.jspecify.annotations.NullMarked;
