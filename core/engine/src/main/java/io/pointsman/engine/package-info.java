/** Chooses a worker for each request and accounts for its load. */
@NullMarked
package io.pointsman.engine;

import org.jspecify.annotations.NullMarked;
