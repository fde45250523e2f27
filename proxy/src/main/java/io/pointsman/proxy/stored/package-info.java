/** Stored responses: which worker keeps which. */
@NullMarked
package io.pointsman.proxy.stored;

import org.jspecify.annotations.NullMarked;
