@NullMarked
package io.pointsman.control.zmtp;

import org.jspecify.annotations.NullMarked;
