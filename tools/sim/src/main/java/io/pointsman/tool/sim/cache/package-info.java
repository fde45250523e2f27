/** The engine's KV memory: blocks, their hashes, and eviction. */
@NullMarked
package io.pointsman.tool.sim.cache;

import org.jspecify.annotations.NullMarked;
