@NullMarked
package io.pointsman.app.compat.ray;

import org.jspecify.annotations.NullMarked;
