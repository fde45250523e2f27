/** Passes a worker's answer on to the client, and reads in passing what it tells. */
@NullMarked
package io.pointsman.proxy.relay;

import org.jspecify.annotations.NullMarked;
