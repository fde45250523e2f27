/** A simulated inference engine: OpenAI-compatible HTTP, prefix cache, batching, faults. */
@NullMarked
package io.pointsman.tool.sim;

import org.jspecify.annotations.NullMarked;
