/** Requests to prefill workers, or that only free blocks: sent, read, settled, tried again. */
@NullMarked
package io.pointsman.proxy.split.leg;

import org.jspecify.annotations.NullMarked;
