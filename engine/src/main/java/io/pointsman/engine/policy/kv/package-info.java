/** The policy that follows what engines announce of their caches, with what learns for it. */
@NullMarked
package io.pointsman.engine.policy.kv;

import org.jspecify.annotations.NullMarked;
