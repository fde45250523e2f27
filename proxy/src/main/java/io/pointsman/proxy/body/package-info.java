/** Bodies of requests that are kept, and how many bytes of them may be. */
@NullMarked
package io.pointsman.proxy.body;

import org.jspecify.annotations.NullMarked;
