/** Decisions explained: a log of some of them, and what is told of each. */
@NullMarked
package io.pointsman.app.explain;

import org.jspecify.annotations.NullMarked;
