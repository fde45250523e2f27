/** Faults that an operator or a test activates while the engine runs. */
@NullMarked
package io.pointsman.tool.sim.failure;

import org.jspecify.annotations.NullMarked;
