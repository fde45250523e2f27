/** The simulation: simulated time and engines with the production engine in front of them. */
@NullMarked
package io.pointsman.replay.run;

import org.jspecify.annotations.NullMarked;
