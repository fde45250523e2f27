/** The simulation: simulated time and engines with the production engine in front of them. */
@NullMarked
package io.pointsman.tool.replay.run;

import org.jspecify.annotations.NullMarked;
