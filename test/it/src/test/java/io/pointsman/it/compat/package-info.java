/**
 * The router started with another router's command line, over sockets, in the situations of that
 * router's integration tests.
 */
@NullMarked
package io.pointsman.it.compat;

import org.jspecify.annotations.NullMarked;
