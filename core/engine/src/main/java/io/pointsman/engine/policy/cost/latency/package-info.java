/**
 * Time models of {@code cost}: engine steps, prefill times and delays, learned from first tokens.
 */
@NullMarked
package io.pointsman.engine.policy.cost.latency;

import org.jspecify.annotations.NullMarked;
