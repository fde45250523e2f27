/** Cache models of {@code cost}: the prompts that each worker has cached, and its capacity. */
@NullMarked
package io.pointsman.engine.policy.cost.cache;

import org.jspecify.annotations.NullMarked;
