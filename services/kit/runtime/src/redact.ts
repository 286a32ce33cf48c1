/** Replaces the user and password of every URL in a text, for logs and messages. */
export function withoutPassword(text: string): string {
  return text.replace(/(\w:\/\/)[^\s/?#"']*@/g, '$1[redacted]@');
}
