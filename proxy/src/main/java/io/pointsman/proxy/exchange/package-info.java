/** The client's side and the life of one request. */
@NullMarked
package io.pointsman.proxy.exchange;

import org.jspecify.annotations.NullMarked;
