/** Other routers' policies, and bounds with exact state, as comparators. */
@NullMarked
package io.pointsman.tool.replay.peer;

import org.jspecify.annotations.NullMarked;
