/** The ways in which engines hand a prompt's KV blocks over, one file each: pure, no I/O. */
@NullMarked
package io.pointsman.engine.disagg.protocol;

import org.jspecify.annotations.NullMarked;
