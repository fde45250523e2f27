/** The split of requests into prefill and decode on two workers. */
@NullMarked
package io.pointsman.engine.disagg;

import org.jspecify.annotations.NullMarked;
