@NullMarked
package io.pointsman.app.compat;

import org.jspecify.annotations.NullMarked;
