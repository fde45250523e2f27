/** HTTP/2 towards clients: each stream is served like an HTTP/1.1 connection. */
@NullMarked
package io.pointsman.proxy.http2;

import org.jspecify.annotations.NullMarked;
