/** Reports about {@code cost}: explanations of decisions, reasons of cache misses, measurements. */
@NullMarked
package io.pointsman.engine.policy.cost.report;

import org.jspecify.annotations.NullMarked;
