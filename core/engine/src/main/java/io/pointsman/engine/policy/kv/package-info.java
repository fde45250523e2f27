/** The policy that follows the engines' KV events, with its learner. */
@NullMarked
package io.pointsman.engine.policy.kv;

import org.jspecify.annotations.NullMarked;
