/** The whole router over real sockets, as its users run it; filed by scenario. */
@NullMarked
package io.pointsman.it;

import org.jspecify.annotations.NullMarked;
