/** A simple HTTP client that can time the bytes of a response. */
@NullMarked
package io.pointsman.tool.bench.wire;

import org.jspecify.annotations.NullMarked;
