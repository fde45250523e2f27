/** Workers found as the addresses of host names. */
@NullMarked
package io.pointsman.control.names;

import org.jspecify.annotations.NullMarked;
