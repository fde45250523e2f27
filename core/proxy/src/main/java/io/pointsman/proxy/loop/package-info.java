/** State that the requests of one event loop, or of the whole server, share. */
@NullMarked
package io.pointsman.proxy.loop;

import org.jspecify.annotations.NullMarked;
