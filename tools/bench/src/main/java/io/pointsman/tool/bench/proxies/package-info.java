/**
 * Comparison of routers and proxies: the same backend and the same load, one contender after the
 * other. Backend and load generator are native programs ({@code tools/bench/native}). This package
 * starts them, measures the contender's process and writes reports.
 */
@NullMarked
package io.pointsman.tool.bench.proxies;

import org.jspecify.annotations.NullMarked;
