/** Answers to requests on two workers: how they are read, and edited on their way to the client. */
@NullMarked
package io.pointsman.pd.execution.answer;

import org.jspecify.annotations.NullMarked;
