/** The hand-over protocols: what each reads in a request and writes into a reply; no sockets. */
@NullMarked
package io.pointsman.sim.kv.protocol;

import org.jspecify.annotations.NullMarked;
