/**
 * Access to other engines' KV: the side channel, and the prefill and decode requests that use it.
 */
@NullMarked
package io.pointsman.tool.sim.kv.link;

import org.jspecify.annotations.NullMarked;
