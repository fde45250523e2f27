/** Compares the behaviour of the whole router with committed texts. */
@NullMarked
package io.pointsman.it.golden;

import org.jspecify.annotations.NullMarked;
