/** Example programs that embed the router. */
@NullMarked
package io.pointsman.examples;

import org.jspecify.annotations.NullMarked;
