/** The policy that follows cached prefixes, with what learns for it. */
@NullMarked
package io.pointsman.engine.policy.cache;

import org.jspecify.annotations.NullMarked;
