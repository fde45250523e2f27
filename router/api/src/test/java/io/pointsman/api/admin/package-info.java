@NullMarked
package io.pointsman.api.admin;

import org.jspecify.annotations.NullMarked;
