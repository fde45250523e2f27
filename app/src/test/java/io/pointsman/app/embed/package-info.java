@NullMarked
package io.pointsman.app.embed;

import org.jspecify.annotations.NullMarked;
