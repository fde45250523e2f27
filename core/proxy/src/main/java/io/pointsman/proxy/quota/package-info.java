/** Limits of single clients: requests and tokens in a time, and concurrency, for each model. */
@NullMarked
package io.pointsman.proxy.quota;

import org.jspecify.annotations.NullMarked;
