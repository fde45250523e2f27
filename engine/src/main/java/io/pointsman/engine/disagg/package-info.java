/** Prefill and decode on two workers: whether a request is split, and between whom. */
@NullMarked
package io.pointsman.engine.disagg;

import org.jspecify.annotations.NullMarked;
