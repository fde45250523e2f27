@NullMarked
package io.pointsman.kubernetes;

import org.jspecify.annotations.NullMarked;
