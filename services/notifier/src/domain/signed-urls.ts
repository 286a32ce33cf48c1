/** Maximum bytes of an integrator's answer with signed URLs. */
export const mostAnswerBytes = 1024 * 1024;

/** Maximum bytes of the answer. `asked`: the limit that the caller gives; 0: none. */
export function answerLimit(asked: number): number {
  return asked === 0 ? mostAnswerBytes : Math.min(asked, mostAnswerBytes);
}

/**
 * Checks the answer of an integrator's endpoint (specification Callbacks 7). Returns the bytes of a JSON object, or the
 * problem, without any text of the answer.
 */
export function checkAnswer(statusCode: number, body: Uint8Array): { json: Buffer } | { problem: string } {
  if (statusCode !== 200) return { problem: `answered ${statusCode}` };
  let text: string;
  try {
    // Removes a byte order mark, because libraries of some servers write one.
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return { problem: 'the answer is not UTF-8' };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'the answer is not JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'the answer is not a JSON object' };
  }
  return { json: Buffer.from(text) };
}
