@NullMarked
package io.pointsman.app.capture;

import org.jspecify.annotations.NullMarked;
