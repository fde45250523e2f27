/** Requests that two workers serve: carries the plans of protocols out. */
@NullMarked
package io.pointsman.proxy.split;

import org.jspecify.annotations.NullMarked;
