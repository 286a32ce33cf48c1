const jsonType = /^application\/json/i;
/** Matches one `;` with its parameter, which may be missing (RFC 9110, section 5.6.6), or the end. */
const parameter = /[ \t]*(?:;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=([\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))?|$)/y;

/** True if a Content-Type is JSON in UTF-8, with any other parameters (rule A22). */
export function isUtf8Json(contentType: string): boolean {
  const type = jsonType.exec(contentType);
  if (!type) return false;
  for (let at = type[0].length; at < contentType.length; at = parameter.lastIndex) {
    parameter.lastIndex = at;
    const found = parameter.exec(contentType);
    if (!found) return false;
    const [, name, value] = found;
    if (name?.toLowerCase() === 'charset' && unquoted(value ?? '').toLowerCase() !== 'utf-8') return false;
  }
  return true;
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;
}
