/** The input of a replay: recorded traces and generated workloads. */
@NullMarked
package io.pointsman.tool.replay.trace;

import org.jspecify.annotations.NullMarked;
