@NullMarked
package io.pointsman.app.explain;

import org.jspecify.annotations.NullMarked;
