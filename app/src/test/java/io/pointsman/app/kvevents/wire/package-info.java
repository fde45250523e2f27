@NullMarked
package io.pointsman.app.kvevents.wire;

import org.jspecify.annotations.NullMarked;
