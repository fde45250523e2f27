/** The benchmark {@code overload}: more load than the engines can serve, from several clients. */
@NullMarked
package io.pointsman.tool.bench.overload;

import org.jspecify.annotations.NullMarked;
