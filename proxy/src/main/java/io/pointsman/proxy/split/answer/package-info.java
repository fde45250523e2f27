/** Answers to requests that two workers serve: read, and changed on their way to the client. */
@NullMarked
package io.pointsman.proxy.split.answer;

import org.jspecify.annotations.NullMarked;
