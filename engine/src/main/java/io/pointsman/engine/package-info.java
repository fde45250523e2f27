/** Who serves a request: the one place where a worker is chosen and its load is accounted. */
@NullMarked
package io.pointsman.engine;

import org.jspecify.annotations.NullMarked;
