/** Capture of traffic without its text, for replay. */
@NullMarked
package io.pointsman.observe.capture;

import org.jspecify.annotations.NullMarked;
