/** The engine's KV memory: blocks, their hashes, and what is evicted first. */
@NullMarked
package io.pointsman.sim.cache;

import org.jspecify.annotations.NullMarked;
