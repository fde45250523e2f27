@NullMarked
package io.pointsman.compat.rayserve;

import org.jspecify.annotations.NullMarked;
