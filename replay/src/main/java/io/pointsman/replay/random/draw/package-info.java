/** What a random workload consists of, drawn from a seed. */
@NullMarked
package io.pointsman.replay.random.draw;

import org.jspecify.annotations.NullMarked;
