/** HTTP/1.1 as bytes: heads, chunk borders, header names. No sockets. */
@NullMarked
package io.pointsman.proxy.wire;

import org.jspecify.annotations.NullMarked;
