/** The simulation: simulated time, simulated engines, the production engine in front of them. */
@NullMarked
package io.pointsman.replay.run;

import org.jspecify.annotations.NullMarked;
