/** A running engine: the scheduler driven by real time, requests in flight, and their counters. */
@NullMarked
package io.pointsman.tool.sim.live;

import org.jspecify.annotations.NullMarked;
