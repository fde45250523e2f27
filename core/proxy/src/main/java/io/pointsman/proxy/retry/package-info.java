/** Conditions and limits of retries. */
@NullMarked
package io.pointsman.proxy.retry;

import org.jspecify.annotations.NullMarked;
