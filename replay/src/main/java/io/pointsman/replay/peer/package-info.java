/** Other routers' policies, and bounds with exact state, as comparators. */
@NullMarked
package io.pointsman.replay.peer;

import org.jspecify.annotations.NullMarked;
