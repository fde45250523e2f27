/** Decisions explained: a log of a sample of them, as JSON. */
@NullMarked
package io.pointsman.observe.decisions;

import org.jspecify.annotations.NullMarked;
