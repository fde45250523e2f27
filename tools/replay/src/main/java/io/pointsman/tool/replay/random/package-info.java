/** Random workloads, and comparisons of policies over many of them. */
@NullMarked
package io.pointsman.tool.replay.random;

import org.jspecify.annotations.NullMarked;
