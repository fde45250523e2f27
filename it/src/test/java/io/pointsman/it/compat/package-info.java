/**
 * The router started by another router's command line, over real sockets, in the situations that
 * the other router's integration tests describe.
 */
@NullMarked
package io.pointsman.it.compat;

import org.jspecify.annotations.NullMarked;
