/** The header for a URL's user and password: HTTP basic authentication, as other clients send it. */
export function authorizationOf({ username, password }: URL): { authorization?: string } {
  if (username === '' && password === '') return {};
  const credentials = `${unescaped(username)}:${unescaped(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
