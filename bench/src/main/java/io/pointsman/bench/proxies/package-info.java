/**
 * Comparison of routers and proxies: the same backend and the same load, one contender after the
 * other. Backend and load generator are native programs ({@code bench/native}). This package starts
 * them, measures the contender's process and writes reports.
 */
@NullMarked
package io.pointsman.bench.proxies;

import org.jspecify.annotations.NullMarked;
