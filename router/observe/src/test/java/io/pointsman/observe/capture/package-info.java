@NullMarked
package io.pointsman.observe.capture;

import org.jspecify.annotations.NullMarked;
