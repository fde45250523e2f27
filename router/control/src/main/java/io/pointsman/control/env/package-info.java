/** The machine's clock and random source. */
@NullMarked
package io.pointsman.control.env;

import org.jspecify.annotations.NullMarked;
