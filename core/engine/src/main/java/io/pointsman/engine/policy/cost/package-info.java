/** The policy that places by predicted time to first token, with the models that it learns. */
@NullMarked
package io.pointsman.engine.policy.cost;

import org.jspecify.annotations.NullMarked;
