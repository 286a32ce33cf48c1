/** The text without the user and password of any URL in it, for logs and messages. */
export function withoutPassword(text: string): string {
  return text.replace(/(\w:\/\/)[^\s/?#"']*@/g, '$1[redacted]@');
}
