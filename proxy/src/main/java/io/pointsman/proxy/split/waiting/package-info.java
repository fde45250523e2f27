/** Waits of requests on two workers: for slots, and for engines' notifications. */
@NullMarked
package io.pointsman.proxy.split.waiting;

import org.jspecify.annotations.NullMarked;
