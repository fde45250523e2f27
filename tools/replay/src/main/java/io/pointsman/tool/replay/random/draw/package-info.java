/** The properties of a random workload, drawn from a seed. */
@NullMarked
package io.pointsman.tool.replay.random.draw;

import org.jspecify.annotations.NullMarked;
