@NullMarked
package io.pointsman.control.kvevents;

import org.jspecify.annotations.NullMarked;
