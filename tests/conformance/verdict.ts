/** A rule of the page that the client does not keep; the message says what was seen. */
export class Broken extends Error {}

/** What the rule is about does not exist in this client. */
export class NotApplicable extends Error {}

/** The client never got so far that the rule could be judged. */
export class NotJudged extends Error {}

/** Throws Broken with `why` unless `fact`. */
export function must(fact: unknown, why: string): asserts fact {
  if (!fact) throw new Broken(why);
}
