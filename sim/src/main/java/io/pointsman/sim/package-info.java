/** A simulated inference engine: OpenAI-compatible HTTP, prefix cache, batching, faults. */
@NullMarked
package io.pointsman.sim;

import org.jspecify.annotations.NullMarked;
