@NullMarked
package io.pointsman.server.embed;

import org.jspecify.annotations.NullMarked;
