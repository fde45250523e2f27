/** The policies by name, with their settings. */
@NullMarked
package io.pointsman.engine.policy.catalog;

import org.jspecify.annotations.NullMarked;
