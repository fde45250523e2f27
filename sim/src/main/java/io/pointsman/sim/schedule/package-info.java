/** The engine's step loop as a pure state machine: time goes in, tokens come out. */
@NullMarked
package io.pointsman.sim.schedule;

import org.jspecify.annotations.NullMarked;
