/** Batched sending of written bytes. */
@NullMarked
package io.pointsman.proxy.flush;

import org.jspecify.annotations.NullMarked;
