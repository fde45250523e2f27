/** When and how often a request is tried again. */
@NullMarked
package io.pointsman.proxy.retry;

import org.jspecify.annotations.NullMarked;
