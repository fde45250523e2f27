/** Tests of the operator's page. */
@NullMarked
package io.pointsman.api.page;

import org.jspecify.annotations.NullMarked;
