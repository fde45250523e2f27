/** Worker choice for external proxies: choose, confirm, renew, settle. */
@NullMarked
package io.pointsman.engine.choice;

import org.jspecify.annotations.NullMarked;
