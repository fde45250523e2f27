/** The policy {@code cost}: it chooses the worker with the least predicted cost of a request. */
@NullMarked
package io.pointsman.engine.policy.cost;

import org.jspecify.annotations.NullMarked;
