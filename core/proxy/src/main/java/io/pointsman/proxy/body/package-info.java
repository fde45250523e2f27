/** Buffered bodies of requests, and the limit on their size. */
@NullMarked
package io.pointsman.proxy.body;

import org.jspecify.annotations.NullMarked;
