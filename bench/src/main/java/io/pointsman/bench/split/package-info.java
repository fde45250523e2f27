/**
 * Which requests two workers should serve: rules compared on one workload in front of the
 * simulator.
 */
@NullMarked
package io.pointsman.bench.split;

import org.jspecify.annotations.NullMarked;
