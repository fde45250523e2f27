/** What the requests of one event loop, and those of the whole server, share. */
@NullMarked
package io.pointsman.proxy.loop;

import org.jspecify.annotations.NullMarked;
