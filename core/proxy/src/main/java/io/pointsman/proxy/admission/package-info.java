/** Admission of requests: number in progress, rate, and queue. */
@NullMarked
package io.pointsman.proxy.admission;

import org.jspecify.annotations.NullMarked;
