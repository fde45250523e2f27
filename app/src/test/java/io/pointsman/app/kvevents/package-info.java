@NullMarked
package io.pointsman.app.kvevents;

import org.jspecify.annotations.NullMarked;
