/** Faults that an operator or a test activates while the engine runs. */
@NullMarked
package io.pointsman.sim.failure;

import org.jspecify.annotations.NullMarked;
