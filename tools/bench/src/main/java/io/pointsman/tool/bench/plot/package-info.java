/** Plots as SVG, written without a library. */
@NullMarked
package io.pointsman.tool.bench.plot;

import org.jspecify.annotations.NullMarked;
