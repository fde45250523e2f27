/** How engines reach each other's KV: the side channel, and the two legs of a request on it. */
@NullMarked
package io.pointsman.sim.kv.link;

import org.jspecify.annotations.NullMarked;
