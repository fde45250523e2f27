/** The engine's step loop as a pure state machine: time is the input, tokens are the output. */
@NullMarked
package io.pointsman.tool.sim.schedule;

import org.jspecify.annotations.NullMarked;
