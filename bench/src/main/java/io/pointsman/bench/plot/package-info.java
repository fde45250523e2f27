/** Plots as SVG, written without a library. */
@NullMarked
package io.pointsman.bench.plot;

import org.jspecify.annotations.NullMarked;
