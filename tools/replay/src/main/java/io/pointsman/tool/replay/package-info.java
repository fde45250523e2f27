/** Replays of traces in simulated time on the production engine. */
@NullMarked
package io.pointsman.tool.replay;

import org.jspecify.annotations.NullMarked;
