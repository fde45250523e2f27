/** Traffic written down without its text, to be replayed. */
@NullMarked
package io.pointsman.app.capture;

import org.jspecify.annotations.NullMarked;
