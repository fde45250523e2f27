/** One request to one worker, up to the body of its answer. */
@NullMarked
package io.pointsman.proxy.call;

import org.jspecify.annotations.NullMarked;
