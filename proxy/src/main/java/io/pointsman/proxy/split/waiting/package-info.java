/** What requests with two workers wait for: a place on them, notifications of engines. */
@NullMarked
package io.pointsman.proxy.split.waiting;

import org.jspecify.annotations.NullMarked;
