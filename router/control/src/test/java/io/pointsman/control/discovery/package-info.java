@NullMarked
package io.pointsman.control.discovery;

import org.jspecify.annotations.NullMarked;
