/** When what was written is sent. */
@NullMarked
package io.pointsman.proxy.flush;

import org.jspecify.annotations.NullMarked;
