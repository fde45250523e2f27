/** HTTP/1.1 in bytes: heads, chunks and header names. No sockets. */
@NullMarked
package io.pointsman.proxy.wire;

import org.jspecify.annotations.NullMarked;
