/** Stored responses and the workers that have them. */
@NullMarked
package io.pointsman.proxy.stored;

import org.jspecify.annotations.NullMarked;
