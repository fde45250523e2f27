/** Preferences around any policy: near workers, and workers with a loaded adapter. */
@NullMarked
package io.pointsman.engine.policy.tier;

import org.jspecify.annotations.NullMarked;
