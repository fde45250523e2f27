@NullMarked
package io.pointsman.app.haproxy;

import org.jspecify.annotations.NullMarked;
