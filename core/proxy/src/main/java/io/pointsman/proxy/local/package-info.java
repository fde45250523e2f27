/** Endpoints that the router answers itself. */
@NullMarked
package io.pointsman.proxy.local;

import org.jspecify.annotations.NullMarked;
