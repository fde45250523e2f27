/** The built-in data plane: HTTP in, decide, HTTP out, stream. */
@NullMarked
package io.pointsman.proxy;

import org.jspecify.annotations.NullMarked;
