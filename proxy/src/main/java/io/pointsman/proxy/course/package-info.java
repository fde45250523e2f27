/** Who serves a request, where that takes more than the choice of one worker. */
@NullMarked
package io.pointsman.proxy.course;

import org.jspecify.annotations.NullMarked;
