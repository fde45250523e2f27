package io.pointsman.request.usage;

/** Member of an answer that the {@link AnswerScanner} reads. */
enum AnswerMember {
  /** Another one. */
  NONE,
  USAGE,
  META,
  TIMINGS,
  ERROR,
  /** Type of the object, which can be an error. */
  TYPE,
  CHOICES,
  RESPONSE,
  /** A message, or the text of an error. */
  MESSAGE,
  DELTA,
  STATUS,
  FINISH,
  STOP
}
