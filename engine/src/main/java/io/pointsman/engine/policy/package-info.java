/** How a worker is chosen: one file per policy, and what a policy is asked. */
@NullMarked
package io.pointsman.engine.policy;

import org.jspecify.annotations.NullMarked;
