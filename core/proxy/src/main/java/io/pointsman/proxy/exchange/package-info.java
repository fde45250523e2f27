/** The client side of the proxy, and the handling of one request from start to end. */
@NullMarked
package io.pointsman.proxy.exchange;

import org.jspecify.annotations.NullMarked;
