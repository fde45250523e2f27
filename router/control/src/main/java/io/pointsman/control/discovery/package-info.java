/** Workers found in a watched file and in DNS. */
@NullMarked
package io.pointsman.control.discovery;

import org.jspecify.annotations.NullMarked;
