/** Tests of the whole router over sockets, as users run it; one class per scenario. */
@NullMarked
package io.pointsman.it;

import org.jspecify.annotations.NullMarked;
