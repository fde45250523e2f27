/** The operator's page, and the figures of the last minute and hour that it shows. */
@NullMarked
package io.pointsman.api.page;

import org.jspecify.annotations.NullMarked;
