import type { Answer } from '../http/answer.ts';

/** RFC 3339 in UTC with milliseconds (rule A1). */
export function dateOf(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

/** Like dateOf, or null if the time is not known. */
export function dateOrNull(ms: bigint | undefined): string | null {
  return ms === undefined ? null : dateOf(ms);
}

/** Answer 201 with the URL of the transaction in Location (specification API 7). */
export function transactionCreated(applicationId: string, transactionId: bigint): Answer {
  return {
    status: 201,
    json: { transactionId: Number(transactionId) },
    location: `/v1/applications/${encodeURIComponent(applicationId)}/transactions/${transactionId}`,
  };
}
