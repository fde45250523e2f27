/** Capture of traffic without its text, for replay. */
@NullMarked
package io.pointsman.app.capture;

import org.jspecify.annotations.NullMarked;
