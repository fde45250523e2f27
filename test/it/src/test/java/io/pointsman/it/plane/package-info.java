/** Real proxies that forward requests themselves, with a router for their decisions. */
@NullMarked
package io.pointsman.it.plane;

import org.jspecify.annotations.NullMarked;
