/** Requests that two workers serve, over sockets and strict simulated engines. */
@NullMarked
package io.pointsman.it.split;

import org.jspecify.annotations.NullMarked;
