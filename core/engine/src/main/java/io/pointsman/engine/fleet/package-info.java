/** The workers, their live state, and the accounting of requests placed on them. */
@NullMarked
package io.pointsman.engine.fleet;

import org.jspecify.annotations.NullMarked;
