/** The policy that follows cached prefixes, with its learner. */
@NullMarked
package io.pointsman.engine.policy.cache;

import org.jspecify.annotations.NullMarked;
