/**
 * Requests served by two workers, in front of the simulator: which ones should be, what the router
 * adds to the two, and what sending both requests at once saves.
 */
@NullMarked
package io.pointsman.bench.split;

import org.jspecify.annotations.NullMarked;
