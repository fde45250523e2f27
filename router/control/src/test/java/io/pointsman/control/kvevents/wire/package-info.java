@NullMarked
package io.pointsman.control.kvevents.wire;

import org.jspecify.annotations.NullMarked;
