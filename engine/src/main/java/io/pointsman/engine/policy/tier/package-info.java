/** Preferences around any policy: workers that are near, workers that have an adapter loaded. */
@NullMarked
package io.pointsman.engine.policy.tier;

import org.jspecify.annotations.NullMarked;
