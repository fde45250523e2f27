/** HTTP from the client's side, read so plainly that the times of bytes mean something. */
@NullMarked
package io.pointsman.bench.wire;

import org.jspecify.annotations.NullMarked;
