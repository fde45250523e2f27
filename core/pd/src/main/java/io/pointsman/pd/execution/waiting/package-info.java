/** Waits of requests on two workers: for slots, and for engines' notifications. */
@NullMarked
package io.pointsman.pd.execution.waiting;

import org.jspecify.annotations.NullMarked;
