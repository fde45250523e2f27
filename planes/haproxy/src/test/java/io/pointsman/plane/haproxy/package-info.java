@NullMarked
package io.pointsman.plane.haproxy;

import org.jspecify.annotations.NullMarked;
