/** Pooled connections to workers, per event loop. */
@NullMarked
package io.pointsman.proxy.upstream;

import org.jspecify.annotations.NullMarked;
