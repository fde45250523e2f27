/** Settings of the client side: limits, timeouts, headers and origins. */
@NullMarked
package io.pointsman.proxy.settings;

import org.jspecify.annotations.NullMarked;
