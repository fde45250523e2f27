/** Plots as SVG. */
@NullMarked
package io.pointsman.tool.bench.plot;

import org.jspecify.annotations.NullMarked;
