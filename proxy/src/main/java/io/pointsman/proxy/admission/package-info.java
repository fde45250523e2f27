/** How many requests are under way at once, and who waits. */
@NullMarked
package io.pointsman.proxy.admission;

import org.jspecify.annotations.NullMarked;
