/** Most bytes of an integrator's answer with signed URLs. */
export const mostAnswerBytes = 1024 * 1024;

/** How many bytes of the answer a caller that asks for `asked` gets; 0: it names no bound. */
export function answerLimit(asked: number): number {
  return asked === 0 ? mostAnswerBytes : Math.min(asked, mostAnswerBytes);
}

/**
 * The answer of an integrator's endpoint (specification Callbacks 7) as the bytes
 * of a JSON object, or what is wrong with it, without a word of the answer itself.
 */
export function judgeAnswer(statusCode: number, body: Uint8Array): { json: Buffer } | { problem: string } {
  if (statusCode !== 200) return { problem: `answered ${statusCode}` };
  let text: string;
  try {
    // A byte order mark is taken off: some servers' libraries write one.
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
    return { problem: 'the answer is no JSON object' };
  }
  return { json: Buffer.from(text) };
}
